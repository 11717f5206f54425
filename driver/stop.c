#include "driver/stop.h"

#include "driver/live.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t asked;

static void on_signal(int number)
{
    if (asked) {
        ks_live_wipe();
        signal(number, SIG_DFL);
        raise(number);
    }
    asked = number;
}

void ks_stop_install(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        struct sigaction old, new = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigaction(signals[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) /* nohup stays in force */
            sigaction(signals[i], &new, NULL);
    }
    /* a worker that dies while we write to it must not end us */
    signal(SIGPIPE, SIG_IGN);
}

bool ks_stop_asked(void)
{
    return asked != 0;
}

const char *ks_stop_signal_name(void)
{
    const char *name = asked ? sigabbrev_np(asked) : NULL;
    return name ? name : "";
}
