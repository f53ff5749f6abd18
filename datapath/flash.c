/*
 * datapath/flash.c - see flash.h.
 */
#include "datapath/flash.h"

void flasher_free(struct flasher *flasher)
{
    if (flasher != NULL)
        flasher->ops->free(flasher);
}
