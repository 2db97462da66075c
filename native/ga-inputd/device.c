#define _GNU_SOURCE
#include "device.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/uinput.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../ga-desktop/clock.h"
#include "layout.h"

#define UINPUT "/dev/uinput"
#define VENDOR 0x4741 /* "GA": no vendor of hardware has it */
#define NODE_NS (120000 * MS_NS) /* while the machine starts, udev and the module of event nodes are slow to come */
#define LOOK_NS (2 * MS_NS)
#define FOLDER_MAX 128

static bool fail(struct device *device, const char *doing, int error) {
    snprintf(device->reason, sizeof device->reason, "%s: %s", doing, strerror(error));
    return false;
}

static void declare(void *owner, uint16_t key) {
    ioctl(*(int *)owner, UI_SET_KEYBIT, key);
}

static bool describe(int fd) {
    struct uinput_setup setup = {.id = {BUS_VIRTUAL, VENDOR, 1, 1}, .name = DEVICE_NAME};
    if (ioctl(fd, UI_SET_EVBIT, EV_KEY) < 0 || ioctl(fd, UI_SET_EVBIT, EV_LED) < 0) return false;
    if (ioctl(fd, UI_SET_LEDBIT, LED_CAPSL) < 0) return false;
    each_key(declare, &fd);
    return ioctl(fd, UI_DEV_SETUP, &setup) >= 0 && ioctl(fd, UI_DEV_CREATE) >= 0;
}

/* /sys/devices/virtual/input/input7/event5 -> /dev/input/event5, once udev has made that. */
static bool find_node(struct device *device, const char *sysname) {
    char folder[FOLDER_MAX];
    uint64_t until = clock_ns() + NODE_NS;
    snprintf(folder, sizeof folder, "/sys/devices/virtual/input/%.32s", sysname);
    for (;;) {
        DIR *found = opendir(folder);
        struct dirent *entry;
        while (found && (entry = readdir(found)))
            if (strncmp(entry->d_name, "event", 5) == 0)
                snprintf(device->node, sizeof device->node, "/dev/input/%.32s", entry->d_name);
        if (found) closedir(found);
        if (device->node[0] && access(device->node, R_OK) == 0) return true;
        if (clock_ns() > until) return false;
        clock_wait_ns(LOOK_NS);
    }
}

bool device_open(struct device *device) {
    char sysname[32] = "";
    *device = (struct device){.fd = open(UINPUT, O_RDWR | O_NONBLOCK | O_CLOEXEC)};
    if (device->fd < 0) return fail(device, "cannot open " UINPUT " (modprobe uinput?)", errno);
    if (!describe(device->fd)) fail(device, "cannot make a keyboard by " UINPUT, errno);
    else if (ioctl(device->fd, UI_GET_SYSNAME(sizeof sysname), sysname) < 0)
        fail(device, "the keyboard has no name", errno);
    else if (!find_node(device, sysname)) fail(device, "the keyboard has no node in /dev/input", ENOENT);
    if (!device->reason[0]) return true;
    device_close(device);
    return false;
}

void device_close(struct device *device) {
    if (device->fd >= 0) close(device->fd); /* the keyboard goes with it */
    device->fd = -1;
}

static bool give(struct device *device, const struct input_event *events, size_t size) {
    ssize_t given = write(device->fd, events, size);
    return given == (ssize_t)size || fail(device, "the kernel does not take a key", given < 0 ? errno : EIO);
}

bool device_key(struct device *device, uint16_t key, bool down) {
    const struct input_event events[] = {{.type = EV_KEY, .code = key, .value = down},
                                         {.type = EV_SYN, .code = SYN_REPORT}};
    return give(device, events, sizeof events);
}

bool device_tap(struct device *device, uint16_t key) {
    const struct input_event events[] = {{.type = EV_KEY, .code = key, .value = 1},
                                         {.type = EV_SYN, .code = SYN_REPORT},
                                         {.type = EV_KEY, .code = key, .value = 0},
                                         {.type = EV_SYN, .code = SYN_REPORT}};
    return give(device, events, sizeof events);
}

void device_read_lights(struct device *device) {
    struct input_event event;
    while (read(device->fd, &event, sizeof event) == (ssize_t)sizeof event)
        if (event.type == EV_LED && event.code == LED_CAPSL) device->caps_lock = event.value != 0;
}
