#define _GNU_SOURCE
#include "pointing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FOLDER "/dev/input"
static const int buttons[] = {BTN_LEFT, BTN_MIDDLE, BTN_RIGHT};

#define BIT_IN(bits, bit) ((bits)[(bit) / 8] >> ((bit) % 8) & 1)

static bool points(int fd) {
    uint8_t axes[ABS_CNT / 8] = {0}, keys[KEY_CNT / 8] = {0};
    if (ioctl(fd, EVIOCGBIT(EV_ABS, sizeof axes), axes) < 0 || ioctl(fd, EVIOCGBIT(EV_KEY, sizeof keys), keys) < 0)
        return false;
    return BIT_IN(axes, ABS_X) && BIT_IN(axes, ABS_Y) && BIT_IN(keys, BTN_LEFT);
}

static void find(struct pointing *pointing) {
    char path[64];
    struct dirent *entry;
    DIR *nodes = opendir(FOLDER);
    while (nodes && pointing->fd < 0 && (entry = readdir(nodes))) {
        if (strncmp(entry->d_name, "event", 5) != 0) continue;
        snprintf(path, sizeof path, FOLDER "/%.32s", entry->d_name);
        int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && points(fd)) pointing->fd = fd;
        else if (fd >= 0) close(fd);
    }
    if (nodes) closedir(nodes);
}

static bool ask(struct pointing *pointing) {
    struct input_absinfo x, y;
    uint8_t keys[KEY_CNT / 8] = {0};
    if (ioctl(pointing->fd, EVIOCGABS(ABS_X), &x) < 0 || ioctl(pointing->fd, EVIOCGABS(ABS_Y), &y) < 0 ||
        ioctl(pointing->fd, EVIOCGKEY(sizeof keys), keys) < 0)
        return false;
    pointing->said = (struct pointing_state){x.value, y.value, 0};
    for (int i = 0; i < 3; i++) pointing->said.buttons |= (uint32_t)BIT_IN(keys, buttons[i]) << i;
    pointing->saying = pointing->said;
    return true;
}

static void press(struct pointing_state *state, int button, bool down) {
    for (int i = 0; i < 3; i++)
        if (buttons[i] == button) state->buttons = (state->buttons & ~(1u << i)) | (uint32_t)down << i;
}

/* False when we were too slow, and the device is gone when we ask. */
static bool take(struct pointing *pointing, const struct input_event *event) {
    if (event->type == EV_ABS && event->code == ABS_X) pointing->saying.x = event->value;
    if (event->type == EV_ABS && event->code == ABS_Y) pointing->saying.y = event->value;
    if (event->type == EV_KEY) press(&pointing->saying, event->code, event->value);
    if (event->type == EV_SYN && event->code == SYN_REPORT) pointing->said = pointing->saying;
    return event->type != EV_SYN || event->code != SYN_DROPPED || ask(pointing);
}

bool pointing_read(struct pointing *pointing, struct pointing_state *state) {
    struct input_event event;
    ssize_t got = 0;
    bool fresh = pointing->fd < 0;
    if (fresh) find(pointing);
    bool good = pointing->fd >= 0 && (!fresh || ask(pointing));
    while (good && (got = read(pointing->fd, &event, sizeof event)) == (ssize_t)sizeof event) good = take(pointing, &event);
    if (!good || (got < 0 && errno != EAGAIN)) {
        pointing_close(pointing); /* unplugged: the next look finds another */
        return false;
    }
    *state = pointing->said;
    return true;
}

void pointing_close(struct pointing *pointing) {
    if (pointing->fd >= 0) close(pointing->fd);
    pointing->fd = -1;
}
