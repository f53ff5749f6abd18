/*
 * tests/unit/datapath/test_linux_port.c - which of a node's interfaces become ports when there are
 * more than a node may have.
 */
#include "tests/unit/test.h"

#include <stdio.h>

#include "datapath/linux.h"

#define CARD_FUNCTIONS 200 /* virtual ones of each of two cards */

static struct dp_port function(int card, int number, bool is_virtual, int ifindex)
{
    struct dp_port port = {.ifindex = ifindex, .is_virtual = is_virtual};
    snprintf(port.id, sizeof(port.id), "0000:%02x:%02x.%d/0", card, number / 8, number % 8);
    snprintf(port.ifname, sizeof(port.ifname), "c%df%d", card, number);
    return port;
}

/* Two cards; the second one's interfaces came last, as after a reload of its driver. */
static size_t make_node(struct dp_port *ports)
{
    size_t count = 0;
    for (int card = 1; card <= 2; card++)
        for (int i = 0; i <= CARD_FUNCTIONS; i++, count++)
            ports[count] = function(card, i, i > 0, (int)count + 1);
    return count;
}

static bool has(const struct dp_port *ports, size_t count, const char *ifname)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(ports[i].ifname, ifname) == 0)
            return true;
    return false;
}

static void of_too_many_ports_the_virtual_functions_give_way(void **state)
{
    (void)state;
    static struct dp_port ports[2 * (CARD_FUNCTIONS + 1)], again[2 * (CARD_FUNCTIONS + 1)];
    OWN(json) json_t *problems = json_array();
    size_t all = make_node(ports);
    size_t count = linux_choose_ports(ports, all, problems);
    assert_int_equal(count, INVENTORY_PORTS_MAX);
    assert_true(has(ports, count, "c1f0") && has(ports, count, "c2f0"));
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(ports[i - 1].id, ports[i].id) < 0);
    assert_int_equal(json_array_size(problems), 1);
    const json_t *problem = json_array_get(problems, 0);
    const char *text = json_string_value(json_object_get(problem, "problem"));
    assert_non_null(strstr(text, "may have 128 ports, this one has 402"));
    assert_non_null(strstr(text, "--devices"));

    /* Interfaces with new numbers, in another order: the same ports. */
    make_node(again);
    for (size_t i = 0; i < all / 2; i++) {
        struct dp_port port = again[i];
        again[i] = again[all - 1 - i];
        again[all - 1 - i] = port;
    }
    for (size_t i = 0; i < all; i++)
        again[i].ifindex = (int)i + 1;
    assert_int_equal(linux_choose_ports(again, all, NULL), count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(again[i].id, ports[i].id);
}

static void as_many_as_a_node_may_have_all_stay(void **state)
{
    (void)state;
    static struct dp_port ports[INVENTORY_PORTS_MAX + 1];
    OWN(json) json_t *problems = json_array();
    for (int i = 0; i < INVENTORY_PORTS_MAX; i++)
        ports[i] = function(1, i, true, i + 1);
    assert_int_equal(linux_choose_ports(ports, INVENTORY_PORTS_MAX, problems), INVENTORY_PORTS_MAX);
    assert_int_equal(json_array_size(problems), 0);
    /* One more with an id that is there already is left out, and takes no place. */
    ports[INVENTORY_PORTS_MAX] = function(1, 5, false, 9999);
    assert_int_equal(linux_choose_ports(ports, INVENTORY_PORTS_MAX + 1, problems),
                     INVENTORY_PORTS_MAX);
    assert_int_equal(json_array_size(problems), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_too_many_ports_the_virtual_functions_give_way),
        cmocka_unit_test(as_many_as_a_node_may_have_all_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
