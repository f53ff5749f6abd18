/*
 * server/http_accept.c - which representation the caller wants, and in which coding; see http.h.
 */
#include <string.h>
#include <strings.h>

#include "server/http_core.h"

#define RANGES_MAX 32 /* of one Accept; later ones are not looked at */

/* "0.5" in thousandths; what is no weight is 1. */
static int weight_parse(const char *text)
{
    int weight = 0, scale = 100;
    if (text[0] != '0')
        return 1000;
    for (const char *p = text + (text[1] == '.' ? 2 : 1); *p >= '0' && *p <= '9'; p++) {
        weight += (*p - '0') * scale;
        scale /= 10;
    }
    return weight;
}

/* How well "text/csv;q=0.5" up to `end` fits the type: 0 = not, 1 by its first half, 2 wholly. A
 * range that takes everything says nothing of a choice. */
static int range_fit(const char *range, const char *end, const char *type, int *out_weight)
{
    const char *rest = range;
    while (rest < end && *rest != ';' && *rest != ' ' && *rest != '\t')
        rest++;
    size_t len = (size_t)(rest - range), half = strcspn(type, "/") + 1;
    *out_weight = 1000;
    for (const char *p = rest; p + 2 < end; p++)
        if (*p == ';' || *p == ' ')
            if ((p[1] == 'q' || p[1] == 'Q') && p[2] == '=')
                *out_weight = weight_parse(p + 3);
    if (len == strlen(type) && strncasecmp(range, type, len) == 0)
        return 2;
    return len == half + 1 && strncasecmp(range, type, half) == 0 && range[half] == '*';
}

static int weight_of(const char *accept, const char *type)
{
    int best = 0, weight = 0, range_weight;
    for (int i = 0; i < RANGES_MAX && *accept != '\0'; i++) {
        accept += strspn(accept, " \t,");
        const char *end = accept + strcspn(accept, ",");
        int fit = range_fit(accept, end, type, &range_weight);
        if (fit > best) {
            best = fit;
            weight = range_weight;
        }
        accept = end;
    }
    return weight;
}

size_t request_accept(struct request *request, const char *const *types)
{
    const char *accept = request_header(request, "Accept");
    size_t chosen = 0;
    int best = 0;
    request_set_header(request, "Vary", "Accept");
    for (size_t i = 0; accept != NULL && types[i] != NULL; i++) {
        int weight = weight_of(accept, types[i]);
        if (weight > best) {
            best = weight;
            chosen = i;
        }
    }
    return chosen;
}

const char *request_accept_coding(struct request *request, const char *const *codings)
{
    const char *accept = request_header(request, "Accept-Encoding"), *chosen = NULL;
    int best = 0;
    request_set_header(request, "Vary", "Accept-Encoding");
    for (size_t i = 0; accept != NULL && codings[i] != NULL; i++) {
        int weight = weight_of(accept, codings[i]);
        if (weight > best) {
            best = weight;
            chosen = codings[i];
        }
    }
    return chosen;
}
