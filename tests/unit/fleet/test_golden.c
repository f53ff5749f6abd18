/*
 * tests/unit/fleet/test_golden.c - runs tests/golden/: NAME/in.json is a fleet and a change,
 * NAME/out.json what rules and compiler make of it; hostile/ holds policies as they come over the
 * wire. GOLDEN_UPDATE=1 rewrites what is expected; read the difference before committing it.
 */
#include "fleet_test.h"

#include <dirent.h>

#define GOLDEN_TEXT_MAX (4 << 20)
#define WIDTH           100

/* Canonical order, but laid out for eyes: what fits stands on one line. */
static void lay_out(const json_t *value, size_t indent, FILE *out)
{
    char *line = json_dumps(value, JSON_SORT_KEYS | JSON_ENCODE_ANY);
    assert_non_null(line);
    if (strlen(line) + indent < WIDTH || !(json_is_object(value) || json_is_array(value))) {
        fputs(line, out);
        free(line);
        return;
    }
    free(line);
    char *canonical = json_canonical(value, NULL); /* sorted members */
    OWN(json) json_t *sorted = json_loads(canonical, 0, NULL);
    free(canonical);
    const char *open = json_is_object(value) ? "{" : "[", *key;
    json_t *item;
    size_t i;
    fputs(open, out);
    const char *separator = "\n";
    json_object_foreach(sorted, key, item)
    {
        fprintf(out, "%s%*s\"%s\": ", separator, (int)indent + 2, "", key);
        lay_out(item, indent + 2, out);
        separator = ",\n";
    }
    json_array_foreach(sorted, i, item)
    {
        fprintf(out, "%s%*s", separator, (int)indent + 2, "");
        lay_out(item, indent + 2, out);
        separator = ",\n";
    }
    fprintf(out, "\n%*s%s", (int)indent, "", json_is_object(value) ? "}" : "]");
}

static void compare(const char *path, const json_t *got)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    lay_out(got, 0, out);
    fputc('\n', out);
    fclose(out);
    if (getenv("GOLDEN_UPDATE") != NULL) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, size, file), size);
        fclose(file);
    } else {
        char *wanted = test_load_path(path, NULL);
        if (strcmp(wanted, text) != 0) {
            size_t at = 0;
            while (wanted[at] == text[at])
                at++;
            fail_msg("%s differs from byte %zu on:\nwanted ...%.200s\ngot ...%.200s\n"
                     "GOLDEN_UPDATE=1 rewrites it",
                     path, at, wanted + at, text + at);
        }
        free(wanted);
    }
    free(text);
}

static json_t *load(const char *path)
{
    struct err err = ERR_INIT;
    size_t len;
    json_t *value = NULL;
    char *text = test_load_path(path, &len);
    assert_ok(json_parse_limit(text, len, GOLDEN_TEXT_MAX, false, &value, &err));
    free(text);
    return value;
}

/* Objects are read sorted, as a view wants them. */
static json_t *sorted_member(const json_t *object, const char *key)
{
    const json_t *member = json_object_get(object, key);
    if (member == NULL)
        return json_object();
    char *canonical = json_canonical(member, NULL);
    json_t *sorted = json_loads(canonical, 0, NULL);
    free(canonical);
    assert_non_null(sorted);
    return sorted;
}

static char *text_of(const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    assert_non_null(text);
    return text;
}

static void add_tenants(struct fleet *fleet, const json_t *tenants)
{
    const char *name;
    json_t *tenant;
    json_object_foreach((json_t *)tenants, name, tenant)
    {
        char *text = text_of(json_object_get(tenant, "policy"));
        fleet_tenant(fleet, name, text);
        free(text);
        fleet->tenants[fleet->view.tenant_count - 1].quota.jobs_max =
            (int32_t)json_integer_value(json_object_get(tenant, "jobs_max"));
    }
}

static void add_nodes(struct fleet *fleet, const json_t *nodes)
{
    const char *name, *key;
    json_t *node, *value;
    json_object_foreach((json_t *)nodes, name, node)
    {
        json_t *inventory = json_object_get(node, "inventory");
        char *text = inventory == NULL ? NULL : text_of(inventory);
        fleet_node(fleet, name, text);
        free(text);
        json_object_foreach(json_object_get(node, "labels"), key, value)
            fleet_label(fleet, fleet->view.node_count - 1, key, json_string_value(value));
    }
}

static void add_placements(struct fleet *fleet, const json_t *placements)
{
    const char *tenant, *job;
    json_t *of_tenant, *placement;
    json_object_foreach((json_t *)placements, tenant, of_tenant)
    {
        json_object_foreach(of_tenant, job, placement)
        {
            char *text = text_of(placement);
            fleet_place(fleet, tenant, job, text);
            free(text);
        }
    }
}

static json_t *check_of(struct fleet *fleet, const json_t *check)
{
    static const char *const kinds[] = {"policy", "fabric", "placement", "inventory", "tenant"};
    const char *kind = json_string_value(json_object_get(check, "kind"));
    struct change change = {
        .tenant = json_string_value(json_object_get(check, "tenant")),
        .job = json_string_value(json_object_get(check, "job")),
        .node = json_string_value(json_object_get(check, "node")),
    };
    assert_non_null(kind);
    for (size_t i = 0; i < 5; i++)
        if (strcmp(kinds[i], kind) == 0)
            change.kind = (enum change_kind)i;
    rules_check(&fleet->view, &change, &fleet->findings);
    return finding_list_to_json(&fleet->findings);
}

static json_t *plans_of(struct fleet *fleet, json_t *notes)
{
    struct err err = ERR_INIT;
    json_t *plans = json_object();
    for (size_t i = 0; i < fleet->view.node_count; i++) {
        OWN_FINDINGS struct finding_list findings;
        finding_list_init(&findings);
        OWN(plan) struct plan *plan = NULL;
        OWN(plan) struct plan *again = NULL;
        assert_ok(compile_plan(&fleet->view, &fleet->nodes[i], 1, &plan, &findings, &err));
        json_t *document = plan_to_json(plan);
        assert_ok(plan_from_json(document, &again, &err));
        json_object_set_new(plans, plan->node, document);
        OWN(json) json_t *list = finding_list_to_json(&findings);
        json_array_extend(notes, list);
    }
    return plans;
}

static void run_case(const char *folder)
{
    char path[2 * TEST_PATH_MAX];
    struct fleet fleet;
    fleet_init(&fleet);
    snprintf(path, sizeof(path), "%s/in.json", folder);
    OWN(json) json_t *in = load(path);
    OWN(json) json_t *tenants = sorted_member(in, "tenants");
    OWN(json) json_t *nodes = sorted_member(in, "nodes");
    OWN(json) json_t *placements = sorted_member(in, "placements");
    json_t *fabric = json_object_get(in, "fabric");
    if (fabric != NULL) {
        char *text = text_of(fabric);
        fleet_fabric(&fleet, text);
        free(text);
    }
    add_tenants(&fleet, tenants);
    add_nodes(&fleet, nodes);
    add_placements(&fleet, placements);
    OWN(json) json_t *out = json_object();
    json_t *check = json_object_get(in, "check");
    json_object_set_new(out, "findings", check_of(&fleet, check));
    const char *tenant = json_string_value(json_object_get(check, "tenant"));
    if (tenant != NULL)
        json_object_set_new(out, "enforcement", enforcement_of_policy(&fleet.view, tenant));
    json_t *notes = json_array();
    json_object_set_new(out, "plans", plans_of(&fleet, notes));
    json_object_set_new(out, "notes", notes);
    snprintf(path, sizeof(path), "%s/out.json", folder);
    compare(path, out);
    fleet_release(&fleet);
}

static void plans_and_findings_are_as_reviewed(void **unused)
{
    (void)unused;
    char root[TEST_PATH_MAX], folder[TEST_PATH_MAX + 300], in[2 * TEST_PATH_MAX];
    size_t cases = 0;
    test_path("golden", root);
    DIR *dir = opendir(root);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        snprintf(folder, sizeof(folder), "%s/%s", root, entry->d_name);
        snprintf(in, sizeof(in), "%s/in.json", folder);
        FILE *file = fopen(in, "r");
        if (file == NULL)
            continue;
        fclose(file);
        print_message("golden %s\n", entry->d_name);
        run_case(folder);
        cases++;
    }
    closedir(dir);
    assert_true(cases >= 8);
}

/* What becomes of one upload: refused by the parser, by the reader, by a rule, or accepted. */
static json_t *verdict_of(const char *text, size_t len)
{
    struct err err = ERR_INIT;
    struct fleet fleet;
    fleet_init(&fleet);
    OWN(json) json_t *document = NULL;
    OWN(policy) struct policy *policy = NULL;
    json_t *verdict = json_object();
    if (json_parse(text, len, &document, &err)) {
        json_object_set_new(verdict, "verdict", json_string("refused by the parser"));
        json_object_set_new(verdict, "message", json_string(err.text));
    } else if (policy_from_json(document, &policy, &fleet.findings, &err)) {
        json_object_set_new(verdict, "verdict", json_string("refused by the reader"));
    } else {
        fleet.tenants[0] = (struct view_tenant){.name = "a", .policy = policy};
        fleet.policies[0] = NULL;
        fleet.view.tenant_count = 1;
        struct change change = {.kind = CHANGE_POLICY, .tenant = "a"};
        rules_check(&fleet.view, &change, &fleet.findings);
        bool refused = finding_list_has_errors(&fleet.findings);
        json_object_set_new(verdict, "verdict",
                            json_string(refused ? "refused by a rule" : "accepted"));
    }
    if (fleet.findings.count > 0)
        json_object_set_new(verdict, "findings", finding_list_to_json(&fleet.findings));
    fleet_release(&fleet);
    return verdict;
}

static void hostile_policies_are_refused_for_the_right_reason(void **unused)
{
    (void)unused;
    char root[TEST_PATH_MAX], path[TEST_PATH_MAX + 300];
    size_t cases = 0;
    test_path("golden/hostile", root);
    OWN(json) json_t *out = json_object();
    DIR *dir = opendir(root);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != 'p')
            continue;
        snprintf(path, sizeof(path), "%s/%s", root, entry->d_name);
        size_t len;
        char *text = test_load_path(path, &len);
        json_object_set_new(out, entry->d_name, verdict_of(text, len));
        free(text);
        cases++;
    }
    closedir(dir);
    assert_int_equal(cases, 18);
    snprintf(path, sizeof(path), "%s/out.json", root);
    compare(path, out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_and_findings_are_as_reviewed),
        cmocka_unit_test(hostile_policies_are_refused_for_the_right_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
