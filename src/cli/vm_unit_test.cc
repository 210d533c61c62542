#include "cli/vm_unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(VmUnit, ReadsAnEnvironmentFileAsSystemdDoes) {
  EXPECT_THAT(environment_words("# QEMU\nPARAVANE_QEMU=/opt/q\n\nA=\"b c\"\nD='e'\nF=g=h\n"),
              ElementsAre(Pair("PARAVANE_QEMU", "/opt/q"), Pair("A", "b c"), Pair("D", "e"),
                          Pair("F", "g=h")));
  EXPECT_THAT(environment_words("=x\nnonsense\n#A=b\n"), IsEmpty());
}

}  // namespace
}  // namespace paravane::cli
