#include "model/fingerprint.h"

#include <algorithm>
#include <cstddef>

namespace paravane::model {

bool is_fingerprint(std::string_view text) {
  constexpr std::size_t kDigits = 64;
  return text.size() == kDigits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace paravane::model
