#include <gtest/gtest.h>

#include "testing/vfio_server_rig.h"
namespace paravane {
TEST(Smoke, Attach) {
  VfioServerRig rig;
  auto c = rig.connect();
  auto v = c.negotiate();
  ASSERT_TRUE(v);
  printf("%s\n", reinterpret_cast<const char*>(v->payload.data() + 4));
  EXPECT_EQ(c.read_value<std::uint32_t>(7, 0), 0x082015adu);
  c.set_bus_master(true);
  EXPECT_TRUE(rig.memory().dma_enabled());
  auto r = c.reset();
  ASSERT_TRUE(r);
  for (auto& l : rig.device().log()) printf("%s\n", l.c_str());
  EXPECT_TRUE(c.stays_silent());
}
}  // namespace paravane
