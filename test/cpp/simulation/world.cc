#include "simulation/world.h"

#include <algorithm>

namespace holdfast::test {
namespace {

World* the_world = nullptr;

void PassPoint(void* world) { static_cast<World*>(world)->Point(); }

}  // namespace

World::World(uint64_t seed, uint32_t points, uint64_t step_ns)
    : random_(seed), points_(points), step_ns_(step_ns), kernel_(*this) {
  the_world = this;
  segment::store_observer = {&PassPoint, this, &PassPoint};
}

World::~World() {
  segment::store_observer = {};
  the_world = nullptr;
}

World* World::Current() { return the_world; }

SimProcess& World::StartProcess() {
  SimProcess& process = processes_.emplace_back();
  process.id = static_cast<uint32_t>(processes_.size());
  return process;
}

uint64_t World::StartThread(SimProcess& process, std::function<void()> main) {
  threads_.emplace_back(++last_thread_, process, std::move(main));
  ++process.threads;
  return last_thread_;
}

void World::Kill(SimProcess& process) {
  process.is_dead = true;
  process.is_stopped = false;
  kernel_.Die(process.id);
  for (Thread& thread : threads_) {
    if (thread.process == &process) thread.channel = nullptr;
  }
}

bool World::IsReady(const Thread& thread) const {
  if (thread.process->is_stopped) return false;
  if (thread.channel == nullptr || thread.deadline_ns <= now_ns_) return true;
  // A ghost does not wait for time to pass.
  return thread.process->is_dead && thread.deadline_ns != kForever;
}

bool World::Step() {
  now_ns_ += step_ns_;
  if (OneIn(8)) kernel_.CloseOneOfTheDead();
  ready_.clear();
  for (Thread& thread : threads_) {
    if (IsReady(thread)) ready_.push_back(&thread);
  }
  if (ready_.empty()) return kernel_.CloseOneOfTheDead() || SkipTime();
  Thread& next = *ready_[Below(static_cast<uint32_t>(ready_.size()))];
  next.channel = nullptr;
  current_ = &next;
  DrawCountdown();
  next.fiber->Run();
  current_ = nullptr;
  if (next.fiber->is_done()) {
    --next.process->threads;
    const uint64_t number = next.number;
    std::erase_if(threads_, [number](const Thread& thread) { return thread.number == number; });
    Wake(&threads_);
  }
  return true;
}

bool World::SkipTime() {
  uint64_t next_ns = kForever;
  for (const Thread& thread : threads_) {
    if (!thread.process->is_stopped) next_ns = std::min(next_ns, thread.deadline_ns);
  }
  if (next_ns == kForever) return false;
  now_ns_ = std::max(now_ns_, next_ns);
  return true;
}

std::string World::Describe() const {
  std::string text;
  for (const Thread& thread : threads_) {
    text += "\n  thread " + std::to_string(thread.number) + " of process " +
            std::to_string(thread.process->id) + (thread.process->is_dead ? " (dead)" : "");
    if (thread.channel == nullptr) text += ": runs";
    if (thread.channel != nullptr) text += ": sleeps";
    if (thread.channel != nullptr && thread.deadline_ns != kForever) text += " for a while";
  }
  return text;
}

void World::DrawCountdown() { countdown_ = 1 + Below(2 * points_); }

void World::Point() {
  if (current_ == nullptr || current_->process->is_dead) return;
  if (HasLeftAShard() && doom_chances_ != 0 && OneIn(doom_chances_)) {
    doomed_ = current_->process;
    countdown_ = 1;
  }
  if (--countdown_ == 0) current_->fiber->Pause();
}

bool World::HasLeftAShard() {
  const bool is_inside = platform::CriticalSectionMark::IsInside(current_->mark.word());
  return std::exchange(current_->was_inside, is_inside) && !is_inside;
}

void World::Sleep(const void* channel, uint64_t deadline_ns) {
  current_->channel = channel;
  current_->deadline_ns = deadline_ns;
  current_->fiber->Pause();
}

void World::Wake(const void* channel) {
  for (Thread& thread : threads_) {
    if (thread.channel == channel) thread.channel = nullptr;
  }
}

void World::SetDeadline(const void* channel, uint64_t deadline_ns) {
  for (Thread& thread : threads_) {
    if (thread.channel == channel) thread.deadline_ns = deadline_ns;
  }
}

std::vector<uint64_t> World::Marks() const {
  std::vector<uint64_t> words;
  for (const Thread& thread : threads_) {
    if (thread.process == current_->process) words.push_back(thread.mark.word());
  }
  return words;
}

void World::Join(uint64_t number) {
  while (HasThread(number)) Sleep(&threads_, kForever);
}

bool World::HasThread(uint64_t number) const {
  return std::any_of(threads_.begin(), threads_.end(),
                     [number](const Thread& thread) { return thread.number == number; });
}

}  // namespace holdfast::test
