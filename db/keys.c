/*
 * db/keys.c - keys that the store makes for itself; see tables.h.
 */
#include "db/tables.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "db/stmt.h"
#include "db/store.h"

enum err_code store_key_get(struct db_tx *tx, const char *name, unsigned char out[STORE_KEY_SIZE],
                            struct err *err)
{
    unsigned char fresh[STORE_KEY_SIZE];
    char hex[2 * STORE_KEY_SIZE + 1];
    random_bytes(fresh, sizeof(fresh));
    hex_encode(fresh, sizeof(fresh), hex);
    enum err_code code = stmt_run(tx->ro.conn,
                                  "INSERT INTO store_keys (name, value) VALUES ($1, $2)"
                                  " ON CONFLICT (name) DO NOTHING",
                                  VALUES(TEXT(name), TEXT(hex)), err);
    if (code != ERR_OK)
        return code;
    struct stmt s = stmt_start(tx->ro.conn, "SELECT value FROM store_keys WHERE name = $1",
                               VALUES(TEXT(name)), err);
    bool is_whole = stmt_next(&s) && hex_decode(stmt_text(&s, 0), out, STORE_KEY_SIZE);
    code = stmt_end(&s);
    if (code == ERR_OK && !is_whole)
        return err_set(err, ERR_INVALID, "the store's key '%s' is damaged", name);
    return code;
}
