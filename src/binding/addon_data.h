// The addon's data per Node environment: the agents it has opened, kept until the environment ends.
#ifndef HOLDFAST_BINDING_ADDON_DATA_H_
#define HOLDFAST_BINDING_ADDON_DATA_H_

#include <memory>
#include <utility>
#include <vector>

#include "binding/agent_wrap.h"

namespace holdfast::binding {

class AddonData {
 public:
  // The JavaScript functions of an agent point to it, so it stays, closed or not, as long as they
  // can be called.
  void Keep(std::unique_ptr<AgentWrap> agent) { agents_.push_back(std::move(agent)); }

 private:
  std::vector<std::unique_ptr<AgentWrap>> agents_;
};

}  // namespace holdfast::binding

#endif  // HOLDFAST_BINDING_ADDON_DATA_H_
