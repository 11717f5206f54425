#include "harness/protocol.h"

size_t ks_wire_command_bytes(enum ks_wire_op op)
{
    size_t head = offsetof(struct ks_wire_command, u);
    switch (op) {
    case KS_OP_HELLO:
        return head + sizeof(struct ks_wire_hello);
    case KS_OP_CONFIGURE:
        return head + sizeof(struct ks_wire_config);
    case KS_OP_LOAD:
        return head + sizeof(struct ks_wire_load);
    case KS_OP_PREPARE:
        return head + sizeof(struct ks_wire_prepare);
    case KS_OP_CALL:
        return head + sizeof(struct ks_wire_call);
    case KS_OP_FETCH:
        return head + sizeof(struct ks_wire_fetch);
    case KS_OP_REPORT:
        return head + sizeof(struct ks_wire_report);
    case KS_OP_QUIT:
        return head;
    }
    return 0;
}

const char *ks_wire_op_text(enum ks_wire_op op)
{
    switch (op) {
    case KS_OP_HELLO:
        return "start";
    case KS_OP_CONFIGURE:
        return "configuration";
    case KS_OP_LOAD:
        return "loading";
    case KS_OP_PREPARE:
        return "preparation of buffers";
    case KS_OP_CALL:
        return "call";
    case KS_OP_FETCH:
        return "read-back";
    case KS_OP_REPORT:
        return "report";
    case KS_OP_QUIT:
        return "end";
    }
    return "unknown command";
}
