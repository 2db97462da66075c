#include "spare_record.h"

#include <stdlib.h>
#include <string.h>

#define PROPERTY_NAME "_GYM_ANYTHING_LENT_KEYS"
#define WORDS_OF_KEY 5 /* code, lent symbols, types, the rest; then the symbols */
#define WORDS_MAX (SPARE_MAX * (WORDS_OF_KEY + KEY_SYMBOLS_MAX))

bool spare_record_open(xcb_atom_t *property, struct x_display *display) {
    xcb_connection_t *c = display->connection;
    xcb_intern_atom_reply_t *reply =
        xcb_intern_atom_reply(c, xcb_intern_atom(c, 0, sizeof PROPERTY_NAME - 1, PROPERTY_NAME), NULL);
    *property = reply ? reply->atom : XCB_ATOM_NONE;
    free(reply);
    return *property != XCB_ATOM_NONE;
}

void spare_record_write(const struct spare_keys *spare, struct x_display *display) {
    static uint32_t words[WORDS_MAX];
    uint32_t count = 0;
    for (int i = 0; i < spare->count; i++) {
        const struct spare_key *key = &spare->keys[i];
        if (key->keysyms[0] == NO_KEYSYM) continue;
        words[count++] = key->keycode;
        words[count++] = key->keysyms[0];
        words[count++] = key->keysyms[1];
        memcpy(&words[count++], key->original.types, 4);
        words[count++] = (uint32_t)key->original.group_info | (uint32_t)key->original.width << 8 |
                         (uint32_t)key->original.symbol_count << 16;
        memcpy(&words[count], key->original.symbols, (size_t)key->original.symbol_count * 4);
        count += key->original.symbol_count;
    }
    if (!count)
        xcb_delete_property(display->connection, display->root, spare->property);
    else
        xcb_change_property(display->connection, XCB_PROP_MODE_REPLACE, display->root, spare->property,
                            XCB_ATOM_CARDINAL, 32, count, words);
}

/* One key from the words; how many it took, 0 when they make no sense. */
static uint32_t read_key(const uint32_t *words, uint32_t left, struct spare_key *key) {
    if (left < WORDS_OF_KEY || words[0] >= KEYCODES) return 0;
    uint32_t symbols = words[4] >> 16;
    if (symbols > KEY_SYMBOLS_MAX || left < WORDS_OF_KEY + symbols) return 0;
    *key = (struct spare_key){.keycode = (uint8_t)words[0], .keysyms = {words[1], words[2]}};
    memcpy(key->original.types, &words[3], 4);
    key->original.group_info = (uint8_t)words[4];
    key->original.width = (uint8_t)(words[4] >> 8);
    key->original.symbol_count = (uint16_t)symbols;
    key->original.complete = true;
    memcpy(key->original.symbols, words + WORDS_OF_KEY, symbols * 4);
    return WORDS_OF_KEY + symbols;
}

void spare_record_read(struct spare_keys *spare, struct x_display *display) {
    xcb_connection_t *c = display->connection;
    xcb_get_property_cookie_t ask =
        xcb_get_property(c, 0, display->root, spare->property, XCB_ATOM_CARDINAL, 0, WORDS_MAX);
    xcb_get_property_reply_t *reply = xcb_get_property_reply(c, ask, NULL);
    spare->count = 0;
    if (!reply) return;
    const uint32_t *words = xcb_get_property_value(reply);
    uint32_t left = reply->format == 32 ? (uint32_t)xcb_get_property_value_length(reply) / 4 : 0, took = 1;
    while (left && took && spare->count < SPARE_MAX) {
        took = read_key(words, left, &spare->keys[spare->count]);
        spare->count += took > 0;
        words += took;
        left -= took;
    }
    free(reply);
}
