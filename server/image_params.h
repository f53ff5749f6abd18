#pragma once
/*
 * server/image_params.h - what an upload's address says of the image. Private to api_firmware*.c.
 */

#include <stdbool.h>

#include "server/http.h"

#define IMAGE_PSIDS_MAX      32
#define IMAGE_PSIDS_SIZE     (IMAGE_PSIDS_MAX * 64)
#define IMAGE_COMPONENT_SIZE 48 /* as a driver of the fabric profile */
#define IMAGE_VERSION_SIZE   64
#define IMAGE_NAME_SIZE      128

struct image_params {
    char component[IMAGE_COMPONENT_SIZE];
    char version[IMAGE_VERSION_SIZE];
    char psids[IMAGE_PSIDS_SIZE]; /* sorted, each once, ","-joined; "" = any board */
    char name[IMAGE_NAME_SIZE];
    char sha256[65];
};

/* False: a 400 with every problem was replied. */
bool image_params_read(struct request *request, struct image_params *out);
