// paravane-switch: what the keeper makes of a plan, in a kernel that is not the host's.
// The plan comes from standard input; arguments are the NICs that are given. Prints the
// report.

#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "keeper/switch_builder.h"

int main(int argc, char** argv) {
  using namespace paravane;
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const auto plan = privsep::parse_switch_plan(text);
  if (!plan) {
    std::cerr << plan.error().message << '\n';
    return 2;
  }
  keeper::SwitchBuilder host(
      {.mark = keeper::switch_mark("guest"), .uplinks = {argv + 1, argv + argc}, .tap_access = {}});
  std::cout << privsep::print(host.make(*plan)) << '\n';
  return 0;
}
