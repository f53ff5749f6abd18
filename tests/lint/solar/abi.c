/*
 * What a program that was built with solar.h counts on: the sizes of its structures and the places
 * of their last members, one a line. Compared with abi.txt.
 */
#include <stddef.h>
#include <stdio.h>

#include <solar.h>

#define TELL(name, last)                                                                           \
    printf(#name " %zu, " #last " at %zu\n", sizeof(struct name), offsetof(struct name, last))

int main(void)
{
    TELL(solar_config, interface);
    TELL(solar_share, priority);
    TELL(solar_completion, has_immediate);
    TELL(solar_qp_config, receive_depth);
    TELL(solar_work, tensor);
    TELL(solar_qp_stats, bad_paths);
    TELL(solar_stats, key_changes);
    TELL(err, text);
    return 0;
}
