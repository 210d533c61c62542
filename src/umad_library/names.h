// What libibumad calls classes, methods, attributes and statuses of MADs: strings that programs
// show, so they are the ones of rdma-core, with its slips of the pen. Any thread.

#pragma once

#include <cstdint>

namespace paravane::umad_library {

// Numbers in the host's order.
const char* class_name(std::uint8_t management_class);
const char* method_name(std::uint8_t management_class, std::uint8_t method);
const char* attribute_name(std::uint8_t management_class, std::uint16_t attribute);
const char* common_status_name(std::uint16_t status);
const char* administration_status_name(std::uint16_t status);

}  // namespace paravane::umad_library
