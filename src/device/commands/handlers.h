// Declares the functions that carry out the commands of the guest's driver. Each source file
// contains the commands for one kind of object. The rules for these functions are in
// command_scope.h.
//
// Owner thread only. Source: docs/device-spec.md, section 8.

#pragma once

#include "device/command_scope.h"

namespace paravane::device {

// port.cc
Result<Progress> query_port(CommandScope& scope, const Request& request, Response& response);
Result<Progress> query_pkey(CommandScope& scope, const Request& request, Response& response);

// context.cc
Result<Progress> create_uc(CommandScope& scope, const Request& request, Response& response);
Result<Progress> destroy_uc(CommandScope& scope, const Request& request, Response& response);
void undo_create_uc(CommandScope& scope, const Response& response);

// protection_domain.cc
Result<Progress> create_pd(CommandScope& scope, const Request& request, Response& response);
Result<Progress> destroy_pd(CommandScope& scope, const Request& request, Response& response);
void undo_create_pd(CommandScope& scope, const Response& response);

// memory_region.cc
Result<Progress> create_mr(CommandScope& scope, const Request& request, Response& response);
Result<Progress> destroy_mr(CommandScope& scope, const Request& request, Response& response);
void undo_create_mr(CommandScope& scope, const Response& response);

// completion_queue.cc
Result<Progress> create_cq(CommandScope& scope, const Request& request, Response& response);
Result<Progress> destroy_cq(CommandScope& scope, const Request& request, Response& response);
void undo_create_cq(CommandScope& scope, const Response& response);

// shared_receive_queue.cc
Result<Progress> create_srq(CommandScope& scope, const Request& request, Response& response);
Result<Progress> modify_srq(CommandScope& scope, const Request& request, Response& response);
Result<Progress> query_srq(CommandScope& scope, const Request& request, Response& response);
Result<Progress> destroy_srq(CommandScope& scope, const Request& request, Response& response);
void undo_create_srq(CommandScope& scope, const Response& response);

// create_qp.cc
Result<Progress> create_qp(CommandScope& scope, const Request& request, Response& response);
Result<Progress> destroy_qp(CommandScope& scope, const Request& request, Response& response);
void undo_create_qp(CommandScope& scope, const Response& response);

// modify_qp.cc
Result<Progress> modify_qp(CommandScope& scope, const Request& request, Response& response);
Result<Progress> query_qp(CommandScope& scope, const Request& request, Response& response);

// bind.cc
Result<Progress> create_bind(CommandScope& scope, const Request& request, Response& response);
Result<Progress> destroy_bind(CommandScope& scope, const Request& request, Response& response);

// unsupported.cc: resizing a completion queue, because the command carries no new pages
Result<Progress> refuse(CommandScope& scope, const Request& request, Response& response);

}  // namespace paravane::device
