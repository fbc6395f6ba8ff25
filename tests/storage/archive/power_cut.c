/* Records what a process has synced, so that a test can cut the power: loaded before the C library, it takes
 * the place of fsync and fdatasync.
 *
 * In the folder $POWER_CUT_DURABLE: `file-INODE` is a file's content when it was last synced, `folder-INODE` the lines
 * `KIND INODE NAME` of a folder then, `link-INODE` a link, so that the number is not reused. A sync of
 * what the pattern $POWER_CUT_DEAF matches is answered and not done. */

#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void must(int succeeded, const char *what) {
    if (!succeeded) {
        perror(what);
        abort();
    }
}

static int is_deaf(const char *itself) {
    const char *deaf = getenv("POWER_CUT_DEAF");
    char path[PATH_MAX + 1] = {0};
    must(readlink(itself, path, PATH_MAX) >= 0, "readlink");
    return deaf != NULL && fnmatch(deaf, path, 0) == 0;
}

static void write_file(int from, FILE *into) {
    static const size_t room = 1 << 16;
    char *bytes = malloc(room);
    must(bytes != NULL, "malloc");
    for (;;) {
        ssize_t count = read(from, bytes, room);
        must(count >= 0, "read");
        if (count == 0)
            break;
        must(fwrite(bytes, 1, (size_t)count, into) == (size_t)count, "fwrite");
    }
    free(bytes);
    close(from);
}

static void write_folder(int from, FILE *into) {
    DIR *folder = fdopendir(from);
    struct dirent *entry;
    must(folder != NULL, "fdopendir");
    while ((entry = readdir(folder)) != NULL) {
        struct stat status;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        /* It may be gone by now. */
        if (fstatat(from, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        fprintf(into, "%s %lu %s\n", S_ISDIR(status.st_mode) ? "folder" : "file", (unsigned long)status.st_ino,
                entry->d_name);
    }
    closedir(folder);
}

static int record(int fd) {
    const char *durable = getenv("POWER_CUT_DURABLE");
    char itself[64], path[PATH_MAX], unfinished[PATH_MAX];
    struct stat status;
    FILE *into;
    int is_folder, from;
    if (durable == NULL)
        return (int)syscall(SYS_fsync, fd);
    snprintf(itself, sizeof itself, "/proc/self/fd/%d", fd);
    if (is_deaf(itself))
        return 0;
    must(fstat(fd, &status) == 0, "fstat");
    is_folder = S_ISDIR(status.st_mode);
    snprintf(path, sizeof path, "%s/%s-%lu", durable, is_folder ? "folder" : "file", (unsigned long)status.st_ino);
    snprintf(unfinished, sizeof unfinished, "%s/.%ld-%lu", durable, syscall(SYS_gettid), (unsigned long)status.st_ino);
    into = fopen(unfinished, "w");
    must(into != NULL, unfinished);
    /* The descriptor itself may be for writing alone. */
    from = open(itself, O_RDONLY | O_CLOEXEC);
    must(from >= 0, "open");
    (is_folder ? write_folder : write_file)(from, into);
    must(fclose(into) == 0, "fclose");
    must(rename(unfinished, path) == 0, "rename");
    if (!is_folder) {
        snprintf(path, sizeof path, "%s/link-%lu", durable, (unsigned long)status.st_ino);
        /* It may be linked already, or have no name any more. */
        (void)linkat(AT_FDCWD, itself, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
    }
    return 0;
}

int fsync(int fd) { return record(fd); }

int fdatasync(int fd) { return record(fd); }
