#include "worker/trunks.h"

#include <gtest/gtest.h>
namespace paravane::worker {
namespace {}  // namespace
}  // namespace paravane::worker
