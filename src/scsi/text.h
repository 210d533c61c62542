// What a target says in letters, as text that can be shown and be part of a name.
//
// Pure functions; any thread.

#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace paravane::scsi {

// Printable ASCII without spaces at its ends. The text ends at the first zero; any other byte
// becomes a question mark.
std::string clean_text(std::span<const std::byte> bytes);

// As part of a device's name: letters, digits and -._:+, and an underscore for each other
// character of clean_text().
std::string clean_name(std::span<const std::byte> bytes);

std::string hex_text(std::span<const std::byte> bytes);

}  // namespace paravane::scsi
