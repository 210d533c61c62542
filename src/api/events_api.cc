#include "api/events_api.h"

#include <fmt/core.h>

#include <charconv>
#include <system_error>

#include "api/api_respond.h"
#include "api/event_json.h"
#include "model/vm.h"

namespace paravane::api {
namespace {

constexpr std::uint64_t kMostPerPage = 500;
constexpr std::size_t kMaxBoot = 64;

// Errors: kInvalidArgument.
Result<std::uint64_t> number_of(const ApiRequest& request, const char* key, std::uint64_t missing,
                                std::uint64_t most) {
  const auto text = query_value(request, key);
  if (!text) return missing;
  std::uint64_t number = 0;
  const char* end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, number);
  if (error == std::errc() && rest == end && number <= most) return number;
  return fail(Errc::kInvalidArgument, fmt::format("\"{}\" must be a number up to {}", key, most));
}

}  // namespace

ApiResponse handle_events_request(EventLog& events, const ApiRequest& request) {
  if (request.method != "GET") return method_not_allowed(request);
  if (const auto problem = query_problem(request, {"after", "boot", "limit", "vm", "wait_s"})) {
    return invalid(*problem);
  }
  const auto after = number_of(request, "after", 0, ~std::uint64_t{0});
  const auto limit = number_of(request, "limit", kMostPerPage, kMostPerPage);
  const auto wait_s =
      number_of(request, "wait_s", 0, static_cast<std::uint64_t>(kMostEventWait.count()));
  for (const auto* number : {&after, &limit, &wait_s}) {
    if (!*number) return invalid(number->error().message);
  }
  if (*limit == 0) return invalid("\"limit\" must be 1 or more");
  EventQuery query{.after = *after,
                   .boot = query_value(request, "boot").value_or(""),
                   .vm = query_value(request, "vm"),
                   .most = static_cast<std::size_t>(*limit)};
  if (query.boot.size() > kMaxBoot) return invalid("\"boot\" is too long");
  if (query.vm) {
    if (const Status good = model::check_name(*query.vm); !good)
      return invalid(good.error().message);
  }
  return respond(200, to_json(*wait_s == 0 ? events.read(query)
                                           : events.wait(query, std::chrono::seconds(*wait_s))));
}

}  // namespace paravane::api
