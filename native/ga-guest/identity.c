#define _GNU_SOURCE
#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ID_SIZE = 32, ADDRESS_SIZE = 6 };

int identity_set_machine_id(const char *path, struct ga_slice id) {
    char line[ID_SIZE + 1];
    if (id.size != ID_SIZE) return EINVAL;
    for (size_t i = 0; i < ID_SIZE; i++)
        if (!id.data[i] || !strchr("0123456789abcdef", id.data[i])) return EINVAL;
    memcpy(line, id.data, ID_SIZE);
    line[ID_SIZE] = '\n';
    // In its place: a file that is cut first is allocated anew, and that goes to the disk at once.
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0444);
    if (fd < 0) return errno;
    ssize_t written = pwrite(fd, line, sizeof line, 0);
    int error = written == (ssize_t)sizeof line ? 0 : written < 0 ? errno : EIO;
    off_t size = error ? 0 : lseek(fd, 0, SEEK_END);
    if (!error && size != (off_t)sizeof line && ftruncate(fd, sizeof line)) error = errno;
    close(fd);
    return error;
}

int identity_set_address(struct ga_slice interface, struct ga_slice address) {
    struct ifreq request = {0};
    if (!interface.size || interface.size >= sizeof request.ifr_name || address.size != ADDRESS_SIZE) return EINVAL;
    memcpy(request.ifr_name, interface.data, interface.size);
    request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
    memcpy(request.ifr_hwaddr.sa_data, address.data, ADDRESS_SIZE);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return errno;
    int error = ioctl(fd, SIOCSIFHWADDR, &request) ? errno : 0;
    close(fd);
    return error;
}
