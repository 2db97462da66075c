/* Who gets the keys: from a window to the application's window that answers pings, and its process. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <xcb/res.h>

#include "drain.h"

#define DEPTH_MAX 16

static bool speaks_ping(struct drain *drain, const xcb_get_property_reply_t *protocols) {
    if (!protocols || protocols->type != XCB_ATOM_ATOM || protocols->format != 32) return false;
    const xcb_atom_t *atoms = xcb_get_property_value(protocols);
    int count = xcb_get_property_value_length(protocols) / (int)sizeof *atoms;
    for (int i = 0; i < count; i++)
        if (atoms[i] == drain->net_wm_ping) return true;
    return false;
}

/* By its class: LibreOffice and its relatives. */
static bool defers_deeds(const xcb_get_property_reply_t *class) {
    if (!class || class->type != XCB_ATOM_STRING || class->format != 8) return false;
    return memmem(xcb_get_property_value(class), (size_t)xcb_get_property_value_length(class), "office", 6) != NULL;
}

static int pid_of_client(struct drain *drain, xcb_window_t window) {
    xcb_connection_t *c = drain->display->connection;
    xcb_res_client_id_spec_t question = {window, XCB_RES_CLIENT_ID_MASK_LOCAL_CLIENT_PID};
    const xcb_query_extension_reply_t *extension = xcb_get_extension_data(c, &xcb_res_id);
    if (!extension || !extension->present) return 0;
    xcb_res_query_client_ids_reply_t *reply =
        xcb_res_query_client_ids_reply(c, xcb_res_query_client_ids(c, 1, &question), NULL);
    int pid = 0;
    if (reply) {
        xcb_res_client_id_value_iterator_t ids = xcb_res_query_client_ids_ids_iterator(reply);
        for (; ids.rem; xcb_res_client_id_value_next(&ids))
            if (xcb_res_client_id_value_value_length(ids.data) == 1)
                pid = (int)*xcb_res_client_id_value_value(ids.data);
    }
    free(reply);
    return pid;
}

/* One step of the way: what the window says, and its parent. */
struct step {
    bool pings, defers;
    xcb_window_t parent;
};

static struct step look_at(struct drain *drain, xcb_window_t window) {
    xcb_connection_t *c = drain->display->connection;
    xcb_get_property_cookie_t ask = xcb_get_property(c, 0, window, drain->wm_protocols, XCB_ATOM_ATOM, 0, 64);
    xcb_get_property_cookie_t ask_class = xcb_get_property(c, 0, window, XCB_ATOM_WM_CLASS, XCB_ATOM_STRING, 0, 64);
    xcb_query_tree_cookie_t ask_tree = xcb_query_tree(c, window);
    xcb_get_property_reply_t *protocols = xcb_get_property_reply(c, ask, NULL);
    xcb_get_property_reply_t *class = xcb_get_property_reply(c, ask_class, NULL);
    xcb_query_tree_reply_t *tree = xcb_query_tree_reply(c, ask_tree, NULL);
    struct step step = {speaks_ping(drain, protocols), defers_deeds(class), tree ? tree->parent : XCB_NONE};
    free(protocols);
    free(class);
    free(tree);
    return step;
}

static struct drain_target target_above(struct drain *drain, xcb_window_t window) {
    struct drain_target target = {.window = window};
    xcb_window_t root = drain->display->root, at = window;
    for (int depth = 0; depth < DEPTH_MAX && at != XCB_NONE && at != root; depth++) {
        struct step step = look_at(drain, at);
        target.defers |= step.defers;
        if (step.pings) {
            target.window = at;
            target.pings = true;
            break;
        }
        at = step.parent;
    }
    if (window != XCB_NONE && window != root) target.pid = pid_of_client(drain, window);
    return target;
}

/* The innermost window under the pointer. */
static xcb_window_t window_under_pointer(struct drain *drain) {
    xcb_connection_t *c = drain->display->connection;
    xcb_window_t at = drain->display->root;
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        xcb_query_pointer_reply_t *pointer = xcb_query_pointer_reply(c, xcb_query_pointer(c, at), NULL);
        xcb_window_t child = pointer ? pointer->child : XCB_NONE;
        free(pointer);
        if (child == XCB_NONE) break;
        at = child;
    }
    return at;
}

struct drain_target drain_under_pointer(struct drain *drain) {
    return target_above(drain, window_under_pointer(drain));
}

struct drain_target drain_focus(struct drain *drain, const struct drain_target *known) {
    xcb_connection_t *c = drain->display->connection;
    xcb_get_input_focus_reply_t *reply = xcb_get_input_focus_reply(c, xcb_get_input_focus(c), NULL);
    xcb_window_t focus = reply ? reply->focus : XCB_NONE;
    bool follows_pointer = focus == XCB_INPUT_FOCUS_POINTER_ROOT || focus == drain->display->root;
    struct drain_target target = {.window = XCB_NONE};
    free(reply);
    if (focus == XCB_NONE) return target;
    if (known && known->focus == focus && !follows_pointer) return *known;
    target = follows_pointer ? drain_under_pointer(drain) : target_above(drain, focus);
    target.focus = focus;
    return target;
}
