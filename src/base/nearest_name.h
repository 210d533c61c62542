// Suggests the name that a user probably meant. It is the name with the smallest edit distance to
// the input. If that distance is too large, there is no suggestion. Two names that differ only in
// their digits are usually two different objects, so vmk0 is not suggested for vmk7. One digit too
// many or too few is treated as a typing error, so db1 is suggested for db11.
//
// Stateless, any thread.

#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paravane {

// Swapping two adjacent letters counts as one step, because it is a common typing error.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;  // two rows ago
  std::vector<std::size_t> last(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1, i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({last[j] + (a[i] == b[j] ? 0 : 1), row[j] + 1, last[j + 1] + 1});
      const bool swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
    before = std::exchange(last, std::move(row));
  }
  return last.back();
}

// Replaces each number by "#", for example "vmk12" by "vmk#".
inline std::string without_number(std::string_view name) {
  std::string shape;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) shape += c;
    if (digit && !shape.ends_with('#')) shape += '#';
  }
  return shape;
}

// Whether `name` is probably another object of the same kind. It is not if `typed` just has one
// digit too many or too few.
inline bool is_sibling(std::string_view typed, std::string_view name) {
  if (without_number(typed) != without_number(name)) return false;
  return typed.size() == name.size() || edit_distance(typed, name) > 1;
}

// nullopt: no name is near enough. That is so if more than half of the input would have to change
// and the input is not the beginning of exactly one name.
template <typename Names>
std::optional<std::string> nearest_name(std::string_view typed, const Names& names) {
  std::optional<std::string> best;
  std::size_t least = std::max<std::size_t>(typed.size() / 2, 1) + 1;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(typed, name);
    if (distance >= least || is_sibling(typed, name)) continue;
    least = distance;
    best = name;
  }
  if (best || typed.size() < 2) return best;
  for (const std::string& name : names) {
    if (!std::string_view(name).starts_with(typed)) continue;
    if (best) return std::nullopt;
    best = name;
  }
  return best;
}

// "Do you mean db1? ", to be put before other advice; empty: no name is near enough.
template <typename Names>
std::string do_you_mean(std::string_view typed, const Names& names) {
  const auto near = nearest_name(typed, names);
  return near ? "Do you mean " + *near + "? " : std::string();
}

}  // namespace paravane
