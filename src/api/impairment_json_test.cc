#include "api/impairment_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace paravane::api {
namespace {

TEST(ImpairmentJson, TravelsAsJson) {
  const model::ImpairmentStatus status{.spec = {.vm = "a",
                                                .peer = "b",
                                                .loss_ppm = 1,
                                                .reorder_ppm = 2,
                                                .rnr_ppm = 3,
                                                .delay_us = 4,
                                                .seed = ~std::uint64_t{0}},
                                       .messages = 5,
                                       .lost = 6,
                                       .answers_lost = 7,
                                       .delayed = 8,
                                       .reordered = 9,
                                       .rnr = 10};
  const auto read = impairment_status_from_json(to_json(status));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, status);
  const auto spec = impairment_from_json(to_json(status.spec));
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(*spec, status.spec);
}

}  // namespace
}  // namespace paravane::api
