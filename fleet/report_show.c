/*
 * fleet/report_show.c - a report as CSV and as one HTML page; see report.h.
 */
#include "fleet/report.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COLUMNS_MAX 12

struct word {
    const char *key, *texts[2]; /* English, Chinese */
};

/* Keys of the document, and words that stand as values of "grade" and the like. */
static const struct word words[] = {
    {"fleet", {"Fleet health report", "集群健康报告"}},
    {"tenant", {"Tenant report", "租户报告"}},
    {"upload", {"Uploaded report", "上传的报告"}},
    {"time", {"Time", "时间"}},
    {"since", {"Since", "起始"}},
    {"from", {"From", "开始"}},
    {"to", {"To", "结束"}},
    {"grade", {"Grade", "等级"}},
    {"ok", {"ok", "正常"}},
    {"warning", {"warning", "警告"}},
    {"critical", {"critical", "严重"}},
    {"unknown", {"unknown", "未知"}},
    {"nodes", {"Nodes", "节点"}},
    {"total", {"total", "总数"}},
    {"findings", {"Open findings", "未解决的问题"}},
    {"explained", {"explained by others", "由其他问题引起"}},
    {"excepted", {"accepted", "已接受"}},
    {"new", {"New findings", "新问题"}},
    {"cured", {"Cured findings", "已解决的问题"}},
    {"convergence", {"Convergence", "收敛情况"}},
    {"generation", {"generation", "代"}},
    {"in_sync", {"in sync", "已同步"}},
    {"pending", {"pending", "待处理"}},
    {"failed", {"failed", "失败"}},
    {"quarantined", {"quarantined", "已隔离"}},
    {"held", {"held", "暂缓"}},
    {"stale", {"not heard", "失联"}},
    {"in_sync_percent", {"in sync, percent", "已同步（百分比）"}},
    {"outliers", {"Worst nodes", "最差节点"}},
    {"rules", {"Findings by rule", "按规则统计"}},
    {"exceptions", {"Accepted exceptions", "已接受的例外"}},
    {"uploads", {"Reports of other tools", "其他工具的报告"}},
    {"node", {"node", "节点"}},
    {"rule", {"rule", "规则"}},
    {"subject", {"subject", "对象"}},
    {"severity", {"severity", "严重程度"}},
    {"message", {"what", "说明"}},
    {"opened", {"opened", "开始时间"}},
    {"cleared", {"cleared", "解决时间"}},
    {"reason", {"reason", "原因"}},
    {"created_by", {"by", "操作人"}},
    {"expires", {"expires", "到期"}},
    {"source", {"source", "来源"}},
    {"name", {"name", "名称"}},
    {"jobs", {"Jobs", "作业"}},
    {"job", {"job", "作业"}},
    {"asked", {"guarantee asked", "请求的保证带宽"}},
    {"granted_bps", {"granted, bit/s", "授予，bit/s"}},
    {"limit_bps", {"limit, bit/s", "带宽上限，bit/s"}},
    {"ports", {"ports", "端口数"}},
    {"known_ports", {"ports known", "已知端口数"}},
    {"worst", {"worst port", "最差端口"}},
    {"known_minutes", {"minutes known", "已知分钟数"}},
    {"below_minutes", {"minutes below the guarantee", "低于保证带宽的分钟数"}},
    {"mean_bps", {"measured mean, bit/s", "实测平均值，bit/s"}},
    {"peak_bps", {"measured peak, bit/s", "实测峰值，bit/s"}},
    {"nothing", {"none", "无"}},
    {"truncated", {"There is more than is shown", "内容未全部显示"}},
};

static const char *say(const char *key, enum report_language language)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].key, key) == 0)
            return words[i].texts[language];
    return key;
}

enum report_language report_language_of(const char *text)
{
    while (text != NULL && *text != '\0') {
        text += strspn(text, " \t,");
        size_t len = strcspn(text, ",;-_ ");
        if (len == 2 && strncasecmp(text, "zh", 2) == 0)
            return REPORT_CHINESE;
        if (len == 2 && strncasecmp(text, "en", 2) == 0)
            return REPORT_ENGLISH;
        text += strcspn(text, ",");
    }
    return REPORT_ENGLISH;
}

/* HTML ---------------------------------------------------------------------------------------- */

struct page_out {
    FILE *out;
    enum report_language language;
};

static void put_escaped(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        const char *entity = *text == '&'    ? "&amp;"
                             : *text == '<'  ? "&lt;"
                             : *text == '>'  ? "&gt;"
                             : *text == '"'  ? "&quot;"
                             : *text == '\'' ? "&#39;"
                                             : NULL;
        if (entity != NULL)
            fputs(entity, out);
        else
            fputc(*text, out);
    }
}

/* Objects are "key value, key value"; grades and severities are said in the language. */
static void put_value(struct page_out *page, const char *key, const json_t *value)
{
    const char *name, *comma = "";
    json_t *member;
    if (json_is_string(value)) {
        const char *text = json_string_value(value);
        bool is_word = strcmp(key, "grade") == 0 || strcmp(key, "severity") == 0;
        put_escaped(page->out, is_word ? say(text, page->language) : text);
    } else if (json_is_integer(value)) {
        fprintf(page->out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_real(value)) {
        fprintf(page->out, "%.6g", json_real_value(value));
    } else if (json_is_boolean(value)) {
        fputs(json_is_true(value) ? "true" : "false", page->out);
    } else if (json_is_object(value)) {
        json_object_foreach((json_t *)(uintptr_t)value, name, member)
        {
            fputs(comma, page->out);
            put_escaped(page->out, say(name, page->language));
            fputc(' ', page->out);
            put_value(page, name, member);
            comma = ", ";
        }
    } else if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++) {
            fputs(i > 0 ? ", " : "", page->out);
            put_value(page, key, json_array_get(value, i));
        }
    }
}

static void put_pairs(struct page_out *page, const json_t *object)
{
    const char *key;
    json_t *value;
    fputs("<table>\n", page->out);
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        fputs("<tr><th scope=\"row\">", page->out);
        put_escaped(page->out, say(key, page->language));
        fputs("</th><td>", page->out);
        put_value(page, key, value);
        fputs("</td></tr>\n", page->out);
    }
    fputs("</table>\n", page->out);
}

/* The keys of all items in the order of their first sight; returns how many. */
static size_t columns_of(const json_t *list, const char *columns[COLUMNS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *key;
        json_t *value;
        json_object_foreach(json_array_get(list, i), key, value)
        {
            size_t at = 0;
            while (at < count && strcmp(columns[at], key) != 0)
                at++;
            if (at == count && count < COLUMNS_MAX)
                columns[count++] = key;
        }
    }
    return count;
}

static void put_table(struct page_out *page, const json_t *list)
{
    const char *columns[COLUMNS_MAX];
    size_t count = columns_of(list, columns);
    fputs("<table>\n<tr>", page->out);
    for (size_t c = 0; c < count; c++) {
        fputs("<th scope=\"col\">", page->out);
        put_escaped(page->out, say(columns[c], page->language));
        fputs("</th>", page->out);
    }
    fputs("</tr>\n", page->out);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *grade = json_string_value(json_object_get(item, "severity"));
        bool is_critical = grade != NULL && strcmp(grade, "critical") == 0;
        fputs(is_critical ? "<tr class=\"critical\">" : "<tr>", page->out);
        for (size_t c = 0; c < count; c++) {
            fputs("<td>", page->out);
            put_value(page, columns[c], json_object_get(item, columns[c]));
            fputs("</td>", page->out);
        }
        fputs("</tr>\n", page->out);
    }
    fputs("</table>\n", page->out);
}

static void put_section(struct page_out *page, const char *key, const json_t *value)
{
    fputs("<h2>", page->out);
    put_escaped(page->out, say(key, page->language));
    fputs("</h2>\n", page->out);
    if (json_is_object(value))
        put_pairs(page, value);
    else if (json_array_size(value) > 0)
        put_table(page, value);
    else
        fprintf(page->out, "<p>%s</p>\n", say("nothing", page->language));
}

static const char style[] =
    "body{font:14px/1.45 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;"
    "color:#111;background:#fff}h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:1.6rem}"
    "table{border-collapse:collapse;width:100%}th,td{border:1px solid #999;padding:.25rem .5rem;"
    "text-align:left;vertical-align:top;overflow-wrap:anywhere}th{background:#eee}"
    ".critical td:first-child{border-left:4px solid #b00}"
    "@media print{body{margin:0;max-width:none}tr{break-inside:avoid}h2{break-after:avoid}}";

static const char *kind_of(const json_t *report)
{
    const char *kind = json_string_value(json_object_get(report, "kind"));
    return kind != NULL ? kind : "fleet";
}

static void put_page(struct page_out *page, const json_t *report)
{
    const char *title = say(kind_of(report), page->language), *key;
    json_t *value;
    fprintf(page->out,
            "<!DOCTYPE html>\n<html lang=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n<title>",
            page->language == REPORT_CHINESE ? "zh" : "en");
    put_escaped(page->out, title);
    fprintf(page->out, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>", style);
    put_escaped(page->out, title);
    fputs("</h1>\n<table>\n", page->out);
    json_object_foreach((json_t *)(uintptr_t)report, key, value)
    {
        if (json_is_object(value) || json_is_array(value) || json_is_boolean(value) ||
            strcmp(key, "version") == 0 || strcmp(key, "kind") == 0)
            continue;
        fputs("<tr><th scope=\"row\">", page->out);
        put_escaped(page->out, say(key, page->language));
        fputs("</th><td>", page->out);
        put_value(page, key, value);
        fputs("</td></tr>\n", page->out);
    }
    fputs("</table>\n", page->out);
    json_object_foreach((json_t *)(uintptr_t)report, key, value)
    {
        if (json_is_object(value) || json_is_array(value))
            put_section(page, key, value);
    }
    if (json_is_true(json_object_get(report, "truncated")))
        fprintf(page->out, "<p>%s</p>\n", say("truncated", page->language));
    fputs("</body>\n</html>\n", page->out);
}

/* The stream's text, or NULL when it could not be written. */
static char *close_text(FILE *out, char **text)
{
    bool good = out != NULL && ferror(out) == 0;
    good = out != NULL && fclose(out) == 0 && good; /* sets *text */
    if (good)
        return *text;
    free(*text);
    return NULL;
}

char *report_html(const json_t *report, enum report_language language, size_t *out_len)
{
    char *text = NULL;
    struct page_out page = {.out = open_memstream(&text, out_len), .language = language};
    if (page.out != NULL)
        put_page(&page, report);
    return close_text(page.out, &text);
}

/* CSV ----------------------------------------------------------------------------------------- */

static void put_cell(FILE *out, const char *text)
{
    bool is_formula = text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL;
    fputc('"', out);
    fputs(is_formula ? "'" : "", out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

struct csv_at {
    const char *section;
    size_t row; /* of a list, from 1; 0 = none */
    const char *key;
};

static void put_row(FILE *out, const struct csv_at *at, const json_t *value)
{
    put_cell(out, at->section);
    if (at->row > 0)
        fprintf(out, ",%zu,", at->row);
    else
        fputs(",,", out);
    put_cell(out, at->key);
    fputc(',', out);
    if (json_is_string(value)) {
        put_cell(out, json_string_value(value));
    } else if (json_is_integer(value)) {
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else {
        char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
        put_cell(out, text != NULL ? text : "");
        free(text);
    }
    fputs("\r\n", out);
}

static void put_object(FILE *out, const char *section, size_t row, const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        const struct csv_at at = {.section = section, .row = row, .key = key};
        put_row(out, &at, value);
    }
}

char *report_csv(const json_t *report, size_t *out_len)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, out_len);
    const char *key;
    json_t *value;
    if (out == NULL)
        return NULL;
    fputs("section,row,name,value\r\n", out);
    json_object_foreach((json_t *)(uintptr_t)report, key, value)
    {
        const struct csv_at at = {.section = "report", .key = key};
        if (json_is_object(value))
            put_object(out, key, 0, value);
        else if (!json_is_array(value))
            put_row(out, &at, value);
        for (size_t i = 0; i < json_array_size(value); i++)
            put_object(out, key, i + 1, json_array_get(value, i));
    }
    return close_text(out, &text);
}
