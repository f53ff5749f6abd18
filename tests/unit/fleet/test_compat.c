/*
 * tests/unit/fleet/test_compat.c - the product's hardware rules, each at its boundary, and what
 * hardware that was really seen gives. Values are those of tools' output as posted in public; the
 * source stands beside them.
 */
#include "fleet_test.h"

#include "base/embed.h"
#include "base/schema.h"
#include "fleet/compat.h"
#include "fleet/firmware.h"
#include "fleet/switch.h"

struct compat_test {
    struct compat *compat;
    struct finding_list findings;
};

static int setup(void **state)
{
    struct err err = ERR_INIT;
    struct compat_test *t = calloc(1, sizeof(*t));
    finding_list_init(&t->findings);
    if (compat_builtin(&t->compat, &err) != ERR_OK)
        fail_msg("the product's rules do not read: %s", err.text);
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    struct compat_test *t = *state;
    compat_free(t->compat);
    finding_list_release(&t->findings);
    free(t);
    return 0;
}

/* "rule severity observed limit; ..." of node n1 with the inventory. */
static const char *check(struct compat_test *t, const char *inventory)
{
    static char text[4096];
    struct err err = ERR_INIT;
    OWN(inventory) struct inventory *read = NULL;
    OWN(json) json_t *document = json_of(inventory);
    assert_ok(inventory_from_json(document, &read, NULL, &err));
    finding_list_release(&t->findings);
    finding_list_init(&t->findings);
    compat_check_node(t->compat, "n1", read, &t->findings);
    text[0] = '\0';
    for (size_t i = 0; i < t->findings.count; i++) {
        const struct finding *f = &t->findings.items[i];
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s %s %s %s; ", f->rule,
                 finding_severity_name(f->severity), f->observed, f->limit);
    }
    return text;
}

static const char *check_port(struct compat_test *t, const char *members)
{
    static char text[1024];
    snprintf(text, sizeof(text), "{'ports':[{'id':'0000:3b:00.0/0',%s}]}", members);
    return check(t, text);
}

#define FULL_LINK "'pcie':{'current_gen':4,'max_gen':4,'current_width':16,'max_width':16}"
#define RDMA      "'driver':'mlx5_core','rdma_device':'mlx5_0',"

static void the_products_rules_fit_their_schema(void **state)
{
    struct compat_test *t = *state;
    OWN(json)
    json_t *document = json_loadb((const char *)compat_files[0].data, compat_files[0].len, 0, NULL);
    assert_true(schema_validate(schema_get("compat-rules"), document, NULL));
    assert_int_equal(t->compat->rule_count, json_array_size(json_object_get(document, "rules")));
    json_object_set_new(json_array_get(json_object_get(document, "rules"), 0), "sevrity",
                        json_string("info"));
    assert_false(schema_validate(schema_get("compat-rules"), document, NULL));
}

static void solar_firmware_is_at_least_2_1_8(void **state)
{
    struct compat_test *t = *state;
    assert_string_equal(check_port(t, "'driver':'solar_rdma','firmware':'2.1.8'"), "");
    assert_string_equal(check_port(t, "'driver':'solar_rdma','firmware':'2.1.10'"), "");
    assert_string_equal(check_port(t, "'driver':'solar_rdma','firmware':'2.1.7'"),
                        "compat-firmware warning 2.1.7 2.1.8; ");
    assert_string_equal(t->findings.items[0].subject, "node/n1/port/0000:3b:00.0/0");
    assert_contains(t->findings.items[0].message, "port 0000:3b:00.0/0 of node n1");
    assert_non_null(t->findings.items[0].hint);
    /* Other vendors' numbers mean something else. */
    assert_string_equal(check_port(t, "'driver':'ice','firmware':'2.1.7'"), "");
}

static void unknown_is_neither_compliant_nor_a_failure(void **state)
{
    struct compat_test *t = *state;
    static const char *const unknown[] = {"", ",'firmware':''", ",'firmware':'N/A'",
                                          ",'firmware':'255.255.65535'", ",'firmware':'0.0.0'"};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        char members[128];
        snprintf(members, sizeof(members), "'driver':'solar_rdma'%s", unknown[i]);
        assert_string_equal(check_port(t, members), "compat-firmware info unknown 2.1.8; ");
        assert_false(finding_list_has_errors(&t->findings));
    }
}

static void an_rdma_nic_has_gen4_x16_at_full_width_and_speed(void **state)
{
    struct compat_test *t = *state;
    assert_string_equal(check_port(t, RDMA FULL_LINK), "");
    assert_string_equal(
        check_port(t,
                   RDMA "'pcie':{'current_gen':3,'max_gen':3,'current_width':16,'max_width':16}"),
        "compat-pcie warning 3 4; ");
    assert_string_equal(
        check_port(t, RDMA "'pcie':{'current_gen':4,'max_gen':4,'current_width':8,'max_width':16}"),
        "compat-pcie warning 8 16; ");
    /* A Gen5 card in a Gen4 slot is not at its full speed. */
    assert_string_equal(
        check_port(t,
                   RDMA "'pcie':{'current_gen':4,'max_gen':5,'current_width':16,'max_width':16}"),
        "compat-pcie warning no yes; ");
    /* lspci -vvv of a ConnectX-7, 1a:00.0: LnkCap and LnkSta 32GT/s x16 (leptonai/gpud). */
    assert_string_equal(
        check_port(t,
                   RDMA "'pcie':{'current_gen':5,'max_gen':5,'current_width':16,'max_width':16}"),
        "");
    /* What is known to fail is said, even when the rest is unknown. */
    assert_string_equal(check_port(t, RDMA "'pcie':{'current_width':8}"),
                        "compat-pcie warning 8 16; ");
    assert_string_equal(check_port(t, RDMA "'pcie':{'current_gen':4,'current_width':16}"),
                        "compat-pcie info unknown yes; ");
    assert_string_equal(check_port(t, RDMA "'mtu_bytes':1500"), "compat-pcie info unknown 4; ");
}

static void pcie_of_what_is_no_rdma_hardware_is_nobodys_business(void **state)
{
    struct compat_test *t = *state;
    /* lspci -vvv of a BCM5720, 01:00.0: LnkCap 5GT/s x2, LnkSta x1 (leptonai/gpud): a management
     * port. */
    assert_string_equal(
        check_port(t, "'driver':'tg3',"
                      "'pcie':{'current_gen':2,'max_gen':2,'current_width':1,'max_width':2}"),
        "");
    /* ibv_devinfo of rxe0, firmware 0.0.0 (SoftRoCE/rxe-dev issue 46). */
    assert_string_equal(check_port(t, "'driver':'e1000','rdma_device':'rxe0','rdma_software':true,"
                                      "'firmware':'0.0.0'"),
                        "");
    /* A virtual function reads its width as 0, which agents leave out. */
    assert_string_equal(check_port(t, RDMA "'virtual_function':true"), "");
    assert_string_equal(check_port(t, RDMA "'virtual_function':true,'pcie':{'current_width':1}"),
                        "");
}

static void gpus_are_a100_80gb_with_600_gb_of_nvlink(void **state)
{
    struct compat_test *t = *state;
#define GPU(members) "{'ports':[],'gpus':[{'id':'0000:07:00.0'," members "," FULL_LINK "}]}"
    assert_string_equal(check(t, GPU("'model':'NVIDIA A100-SXM4-80GB','nvlink_bps':4800000000000")),
                        "");
    assert_string_equal(check(t, GPU("'model':'NVIDIA A100 80GB PCIe','nvlink_bps':4799999999999")),
                        "compat-gpu-nvlink warning 4799999999999bps 4800Gbps; ");
    assert_string_equal(check(t, GPU("'model':'NVIDIA A100-SXM4-40GB','nvlink_bps':4800000000000")),
                        "compat-gpu-model warning NVIDIA A100-SXM4-40GB *A100*80GB*; ");
    assert_string_equal(t->findings.items[0].subject, "node/n1/gpu/0000:07:00.0");
    /* nvidia-smi -q of an H100 (leptonai/gpud, 535.161.08), which does not print the bandwidth. */
    assert_string_equal(check(t, GPU("'model':'NVIDIA H100 80GB HBM3'")),
                        "compat-gpu-model warning NVIDIA H100 80GB HBM3 *A100*80GB*; "
                        "compat-gpu-nvlink info unknown 4800Gbps; ");
}

static void a_cpu_has_an_smmuv3(void **state)
{
    struct compat_test *t = *state;
    assert_string_equal(check(t, "{'ports':[],'cpu':{'iommu':'smmuv3'}}"), "");
    assert_string_equal(check(t, "{'ports':[],'cpu':{'iommu':'none'}}"),
                        "compat-cpu-smmu warning none smmuv3; ");
    assert_string_equal(check(t, "{'ports':[],'cpu':{'model':'x'}}"),
                        "compat-cpu-smmu info unknown smmuv3; ");
    assert_string_equal(check(t, "{'ports':[]}"), ""); /* nobody spoke of the CPU */
}

static void a_switch_does_pfc_and_ecn(void **state)
{
    struct compat_test *t = *state;
    static const struct {
        const char *document, *rules;
    } cases[] = {
        {"{'pfc':true,'ecn':true}", ""},
        {"{'pfc':false,'ecn':true}", "compat-switch-pfc warning,"},
        {"{'pfc':true,'ecn':false}", "compat-switch-ecn warning,"},
        {"{'pfc':true}", "compat-switch-ecn info,"},
        {"{}", "compat-switch-pfc info,compat-switch-ecn info,"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = ERR_INIT;
        struct switch_info info;
        char text[256] = "";
        OWN(json) json_t *document = json_of(cases[i].document);
        assert_ok(switch_from_json(document, "", "sw1", &info, NULL, &err));
        finding_list_release(&t->findings);
        finding_list_init(&t->findings);
        compat_check_switch(t->compat, "sw1", &info, &t->findings);
        for (size_t j = 0; j < t->findings.count; j++) {
            size_t used = strlen(text);
            snprintf(text + used, sizeof(text) - used, "%s %s,", t->findings.items[j].rule,
                     finding_severity_name(t->findings.items[j].severity));
            assert_string_equal(t->findings.items[j].subject, "switch/sw1");
        }
        assert_string_equal(text, cases[i].rules);
    }
}

static void wrong_rules_are_refused_with_their_place(void **unused)
{
    (void)unused;
#define RULE(more)                                                                                 \
    "{'version':1,'rules':[{'id':'compat-x','subject':'nic','severity':'info','text':'t',"         \
    "'reason':'r','hint':'h'," more "}]}"
    static const struct {
        const char *text, *pointer;
    } cases[] = {
        {RULE("'requires':[]"), "/rules/0/requires"},
        {RULE("'requires':[{'fact':'model','any_of':['x']}]"), "/rules/0/requires/0/fact"},
        {RULE("'requires':[{'fact':'firmware','at_least':'N/A'}]"), "/rules/0/requires/0/at_least"},
        {RULE("'requires':[{'fact':'firmware','at_least':3}]"), "/rules/0/requires/0/at_least"},
        {RULE("'requires':[{'fact':'rdma','at_least':1}]"), "/rules/0/requires/0/is"},
        {RULE("'requires':[{'fact':'driver','any_of':[]}]"), "/rules/0/requires/0/any_of"},
        {RULE("'requires':[{'fact':'rdma','is':true}],'sevrity':'info'"), "/rules/0/sevrity"},
        {"{'version':1,'rules':[{'id':'Compat','subject':'nic'}]}", "/rules/0/id"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = ERR_INIT;
        OWN(compat) struct compat *compat = NULL;
        OWN_FINDINGS struct finding_list findings;
        finding_list_init(&findings);
        OWN(json) json_t *document = json_of(cases[i].text);
        assert_fails(compat_from_json(document, &compat, &findings, &err), ERR_INVALID);
        bool found = false;
        for (size_t j = 0; j < findings.count; j++)
            found |= strcmp(findings.items[j].pointer, cases[i].pointer) == 0;
        if (!found)
            fail_msg("%s is not named for %s", cases[i].pointer, cases[i].text);
    }
}

static void the_profiles_minimum_is_the_highest_of_the_driver(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(fabric) struct fabric *fabric = NULL;
    OWN(inventory) struct inventory *inventory = NULL;
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    OWN(json)
    json_t *profile = json_of("{'fabric_profile':{'priorities':[{'priority':3}],"
                              "'firmware_minimums':[{'driver':'mlx5_core','minimum':'22.41'},"
                              "{'driver':'mlx5_core','minimum':'22.5'}]}}");
    OWN(json)
    json_t *report = json_of(
        "{'ports':[{'id':'a/0','driver':'mlx5_core','firmware':'22.41.0'},"
        "{'id':'b/0','driver':'mlx5_core','firmware':'22.40.9999','firmware_stored':'22.41.1000'},"
        "{'id':'c/0','driver':'mlx5_core'},{'id':'d/0','driver':'ice','firmware':'1.0'}]}");
    assert_ok(fabric_from_json(profile, &fabric, NULL, &err));
    assert_ok(inventory_from_json(report, &inventory, NULL, &err));
    assert_string_equal(firmware_minimum(fabric, "mlx5_core"), "22.41");
    assert_null(firmware_minimum(fabric, "ice"));
    assert_null(firmware_minimum(NULL, "mlx5_core"));
    firmware_check_node(fabric, "n1", inventory, &findings);
    assert_int_equal(findings.count, 2);
    assert_string_equal(findings.items[0].subject, "node/n1/port/b/0");
    assert_int_equal(findings.items[0].severity, FINDING_WARNING);
    assert_contains(findings.items[0].hint, "stored already");
    assert_string_equal(findings.items[1].subject, "node/n1/port/c/0");
    assert_int_equal(findings.items[1].severity, FINDING_INFO);
    assert_true(firmware_is_staged(&inventory->ports[1]));
    assert_false(firmware_is_staged(&inventory->ports[0]));
}

static void switches_with_faults_are_refused_with_their_place(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *pointer;
    } cases[] = {
        {"{'pcf':true}", "/pcf"},
        {"{'name':'sw2'}", "/name"},
        {"{'pfc':'yes'}", "/pfc"},
        {"{'lossless_priorities':[8]}", "/lossless_priorities"},
        {"{'lossless_priorities':[3,3]}", "/lossless_priorities"},
        {"{'ports':[{'name':'1'},{'name':'1'}]}", "/ports"},
        {"{'ports':[{'name':'1','mtu_bytes':67}]}", "/ports/0/mtu_bytes"},
        {"{'ports':[{'name':'1','speed_bps':0}]}", "/ports/0/speed_bps"},
        {"{'ports':[{'name':'1','node':'a b'}]}", "/ports/0/node"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = ERR_INIT;
        struct switch_info info;
        OWN_FINDINGS struct finding_list findings;
        finding_list_init(&findings);
        OWN(json) json_t *document = json_of(cases[i].text);
        assert_fails(switch_from_json(document, "", "sw1", &info, &findings, &err), ERR_INVALID);
        assert_string_equal(findings.items[0].pointer, cases[i].pointer);
    }
}

#define compat_test(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        compat_test(the_products_rules_fit_their_schema),
        compat_test(solar_firmware_is_at_least_2_1_8),
        compat_test(unknown_is_neither_compliant_nor_a_failure),
        compat_test(an_rdma_nic_has_gen4_x16_at_full_width_and_speed),
        compat_test(pcie_of_what_is_no_rdma_hardware_is_nobodys_business),
        compat_test(gpus_are_a100_80gb_with_600_gb_of_nvlink),
        compat_test(a_cpu_has_an_smmuv3),
        compat_test(a_switch_does_pfc_and_ecn),
        cmocka_unit_test(wrong_rules_are_refused_with_their_place),
        cmocka_unit_test(the_profiles_minimum_is_the_highest_of_the_driver),
        cmocka_unit_test(switches_with_faults_are_refused_with_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
