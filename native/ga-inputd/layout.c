#include "layout.h"

#include <linux/input-event-codes.h>
#include <stddef.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

struct row {
    uint16_t key;
    char plain, shifted;
};

static const struct row rows[] = {
    {KEY_GRAVE, '`', '~'},     {KEY_1, '1', '!'},      {KEY_2, '2', '@'},          {KEY_3, '3', '#'},
    {KEY_4, '4', '$'},         {KEY_5, '5', '%'},      {KEY_6, '6', '^'},          {KEY_7, '7', '&'},
    {KEY_8, '8', '*'},         {KEY_9, '9', '('},      {KEY_0, '0', ')'},          {KEY_MINUS, '-', '_'},
    {KEY_EQUAL, '=', '+'},     {KEY_Q, 'q', 'Q'},      {KEY_W, 'w', 'W'},          {KEY_E, 'e', 'E'},
    {KEY_R, 'r', 'R'},         {KEY_T, 't', 'T'},      {KEY_Y, 'y', 'Y'},          {KEY_U, 'u', 'U'},
    {KEY_I, 'i', 'I'},         {KEY_O, 'o', 'O'},      {KEY_P, 'p', 'P'},          {KEY_LEFTBRACE, '[', '{'},
    {KEY_RIGHTBRACE, ']', '}'}, {KEY_BACKSLASH, '\\', '|'}, {KEY_A, 'a', 'A'},     {KEY_S, 's', 'S'},
    {KEY_D, 'd', 'D'},         {KEY_F, 'f', 'F'},      {KEY_G, 'g', 'G'},          {KEY_H, 'h', 'H'},
    {KEY_J, 'j', 'J'},         {KEY_K, 'k', 'K'},      {KEY_L, 'l', 'L'},          {KEY_SEMICOLON, ';', ':'},
    {KEY_APOSTROPHE, '\'', '"'}, {KEY_Z, 'z', 'Z'},    {KEY_X, 'x', 'X'},          {KEY_C, 'c', 'C'},
    {KEY_V, 'v', 'V'},         {KEY_B, 'b', 'B'},      {KEY_N, 'n', 'N'},          {KEY_M, 'm', 'M'},
    {KEY_COMMA, ',', '<'},     {KEY_DOT, '.', '>'},    {KEY_SLASH, '/', '?'},      {KEY_SPACE, ' ', ' '},
    {KEY_ENTER, '\n', '\n'},   {KEY_ENTER, '\r', '\r'}, {KEY_TAB, '\t', '\t'},     {KEY_BACKSPACE, '\b', '\b'},
};

struct named {
    uint32_t keysym;
    uint16_t key;
};

/* Keysyms that type nothing. Source: X11/keysymdef.h and XF86keysym.h; the codes are those of xkeyboard-config's evdev. */
static const struct named names[] = {
    {0xff08, KEY_BACKSPACE},   {0xff09, KEY_TAB},        {0xff0d, KEY_ENTER},      {0xff13, KEY_PAUSE},
    {0xff14, KEY_SCROLLLOCK},  {0xff15, KEY_SYSRQ},      {0xff1b, KEY_ESC},        {0xff50, KEY_HOME},
    {0xff51, KEY_LEFT},        {0xff52, KEY_UP},         {0xff53, KEY_RIGHT},      {0xff54, KEY_DOWN},
    {0xff55, KEY_PAGEUP},      {0xff56, KEY_PAGEDOWN},   {0xff57, KEY_END},        {0xff61, KEY_SYSRQ},
    {0xff63, KEY_INSERT},      {0xff67, KEY_COMPOSE},    {0xff7f, KEY_NUMLOCK},    {0xff8d, KEY_KPENTER},
    {0xffaa, KEY_KPASTERISK},  {0xffab, KEY_KPPLUS},     {0xffad, KEY_KPMINUS},    {0xffaf, KEY_KPSLASH},
    {0xffbe, KEY_F1},          {0xffbf, KEY_F2},         {0xffc0, KEY_F3},         {0xffc1, KEY_F4},
    {0xffc2, KEY_F5},          {0xffc3, KEY_F6},         {0xffc4, KEY_F7},         {0xffc5, KEY_F8},
    {0xffc6, KEY_F9},          {0xffc7, KEY_F10},        {0xffc8, KEY_F11},        {0xffc9, KEY_F12},
    {0xffe1, KEY_LEFTSHIFT},   {0xffe2, KEY_RIGHTSHIFT}, {0xffe3, KEY_LEFTCTRL},   {0xffe4, KEY_RIGHTCTRL},
    {0xffe5, KEY_CAPSLOCK},    {0xffe7, KEY_LEFTALT},    {0xffe8, KEY_RIGHTALT},   {0xffe9, KEY_LEFTALT},
    {0xffea, KEY_RIGHTALT},    {0xffeb, KEY_LEFTMETA},   {0xffec, KEY_RIGHTMETA},  {0xffff, KEY_DELETE},
};

struct stroke stroke_of_character(uint32_t character) {
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct row *row = &rows[i];
        bool plain = character == (uint8_t)row->plain, shifted = character == (uint8_t)row->shifted;
        bool letter = row->plain >= 'a' && row->plain <= 'z';
        if (plain || shifted) return (struct stroke){row->key, !plain, letter};
    }
    return (struct stroke){0};
}

struct stroke stroke_of_keysym(uint32_t keysym) {
    for (size_t i = 0; i < LENGTH(names); i++)
        if (names[i].keysym == keysym) return (struct stroke){.key = names[i].key};
    /* Latin-1 keysyms are their characters; control characters are none. */
    return keysym >= ' ' && keysym <= '~' ? stroke_of_character(keysym) : (struct stroke){0};
}

void each_key(void (*with)(void *owner, uint16_t key), void *owner) {
    for (size_t i = 0; i < LENGTH(rows); i++) with(owner, rows[i].key);
    for (size_t i = 0; i < LENGTH(names); i++) with(owner, names[i].key);
}
