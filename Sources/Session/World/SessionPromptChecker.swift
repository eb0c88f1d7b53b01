import HoldfastCore
import HoldfastLinkChecks
import HoldfastSession
import HoldfastSessionChecks
import HoldfastSessionData
import HoldfastWorldKernel

/// A checker of a phone's prompts.
///
/// Each prompt must be sent in its stored form, one at a time and not too often. The phone's
/// reports about prompts and about its store must be correct.
struct SessionPromptChecker: Sendable {
  /// A prompt that has not ended.
  private struct Prompt: Sendable {
    var state: SessionPromptState.State
    let queuedAt: Instant
    /// The time since which the phone's clock has run without interruption.
    var awakeSince: Instant
    /// The time at which the prompt was last sent or accepted on the current connection.
    var sentAt: Instant?
    var isAccepted = false
    var isStale = false
    /// Whether the prompt has ended. The end is shown once it is stored.
    var hasEnded = false

    init(_ state: SessionPromptState.State, at now: Instant) {
      self.state = state
      (queuedAt, awakeSince) = (now, now)
      isAccepted = state == .accepted
    }
  }

  private var prompts: [UUID128: Prompt] = [:]
  /// The prompts on the disk.
  private var stored: [UUID128: StoredPrompt] = [:]
  /// The keys of the prompts for which other prompts may have to wait, their bytes, and the time
  /// until which they count.
  private var uploads: [(key: String, bytes: Int, until: Instant)] = []
  /// The change that the store has not confirmed.
  private var change: (id: SessionCommitID, change: ClientSessionChange)?
  private var hasStoreFailed = false
  private var hasSlept = false

  /// The time after which a prompt is stale if it has not been accepted.
  private static let staleness = Duration.seconds(60)

  mutating func launched() { self = SessionPromptChecker() }
  mutating func slept() { hasSlept = true }

  mutating func received(
    _ input: SessionModel.Input?, _ effects: [SessionModel.Effect], at now: Instant,
    _ found: inout Findings
  ) {
    checkStale(at: now, &found)
    let updates = effects.compactMap { effect in
      if case .update(let update) = effect { update } else { nil }
    }
    switch input {
    case .restored(let snapshot, _, _): restored(snapshot, updates, at: now, &found)
    case .frame(_, let message, _, _): receive(message)
    case .committed(let id, _):
      guard let done = change, done.id == id else { break }
      if hasStoreFailed, !updates.contains(.notice(.storeRecovered)) {
        found.add(.untrue, at: now, "the store's recovery was not shown")
      }
      (change, hasStoreFailed) = (nil, false)
      for prompt in done.change.prompts { stored[prompt.id] = prompt }
      for key in done.change.forgotten { stored[key] = nil }
    case .commitFailed(let id, let failure):
      guard change?.id == id else { break }
      hasStoreFailed = true
      if !updates.contains(.notice(.store(failure))) {
        found.add(.untrue, at: now, "a failure of the store was not shown")
      }
    case nil, .start, .stop, .stopUnread, .prompt, .retry, .discard, .cancel, .follow, .shown,
      .answersShown, .link, .credentials, .probed, .opened, .malformed, .reading, .unsent:
      break
    }
    for effect in effects { requested(effect, at: now, &found) }
  }

  // MARK: Inputs

  /// Checks that pending prompts and news that were not shown before are shown at the start.
  private mutating func restored(
    _ snapshot: ClientSessionSnapshot, _ updates: [SessionUpdate], at now: Instant,
    _ found: inout Findings
  ) {
    for prompt in snapshot.prompts { stored[prompt.id] = prompt }
    let waiting = snapshot.prompts.filter { !$0.isFailed }
    for prompt in waiting {
      prompts[prompt.id] = Prompt(prompt.isAccepted ? .accepted : .queued, at: now)
    }
    let pending = updates.compactMap { if case .pending(let all) = $0 { all } else { nil } }
    if pending != (waiting.isEmpty ? [] : [waiting]) {
      found.add(.untrue, at: now, "pending prompts of earlier runs were not shown")
    }
    let shown = updates.count { update in
      switch update {
      case .message: true
      case .prompt(_, let news): news != nil
      case .status, .quality, .pending, .part, .gap, .record, .notice: false
      }
    }
    if shown != snapshot.unshown.count {
      found.add(
        .lost, at: now, "\(snapshot.unshown.count) stored news, \(shown) shown at the start")
    }
  }

  private mutating func receive(_ message: SessionServerMessage) {
    switch message {
    case .ack(_, let key): endUpload(key)
    case .response(let response): endUpload(response.idempotencyKey)
    case .error(let error):
      endUpload(error.idempotencyKey)
      // A prompt that was refused permanently waits only until its end is stored.
      let isForNow = ["busy", "rate_limited", "store_failed", "draining"].contains(error.code)
      if let key = error.idempotencyKey.flatMap({ UUID128($0) }), !isForNow {
        prompts[key]?.hasEnded = true
      }
    case .hello, .connected, .authError, .pong, .responsePart, .replay, .turnComplete, .history,
      .historyBatch, .heartbeat, .draining, .sessionKilled, .unknown:
      return
    }
  }

  private mutating func endUpload(_ key: String?) {
    uploads.removeAll { key == nil || $0.key == key }
  }

  /// Reports prompts that were not accepted within 60 s and not shown as stale. After a sleep, the
  /// time starts again.
  private mutating func checkStale(at now: Instant, _ found: inout Findings) {
    if hasSlept { for key in prompts.keys { prompts[key]?.awakeSince = now } }
    hasSlept = false
    for (key, prompt) in prompts where !prompt.isStale && !prompt.isAccepted && !prompt.hasEnded {
      guard prompt.awakeSince.advanced(by: Self.staleness + .seconds(1)) < now else { continue }
      prompts[key]?.isStale = true
      found.add(.untimely, at: now, "a prompt waits for more than 60 s and is not called stale")
    }
  }

  // MARK: Effects

  private mutating func requested(
    _ effect: SessionModel.Effect, at now: Instant, _ found: inout Findings
  ) {
    switch effect {
    case .open:
      uploads = []
      for key in prompts.keys { prompts[key]?.sentAt = nil }
    case .send(_, .prompt(let prompt)): sent(prompt, at: now, &found)
    case .commit(let id, let next):
      if let change, change.change != next {
        found.add(.lost, at: now, "a change that the store refused was not tried again")
      }
      change = (id, next)
      for case .ended(let ending) in next.news { prompts[ending.key]?.hasEnded = true }
    case .update(.prompt(let prompt, _)): shown(prompt, at: now, &found)
    case .update(.notice(.stale(let key))):
      guard let prompt = prompts[key] else { return }
      let isDue = prompt.queuedAt.advanced(by: Self.staleness) <= now
      if prompt.isAccepted || prompt.isStale || !isDue {
        found.add(.untimely, at: now, "a prompt was called stale that is not")
      }
      prompts[key]?.isStale = true
    case .close, .connect, .send, .refreshCredentials, .probe, .update: return
    }
  }

  private mutating func sent(
    _ prompt: SessionPrompt, at now: Instant, _ found: inout Findings
  ) {
    let key = prompt.idempotencyKey.flatMap { UUID128($0) }
    let original = key.flatMap { stored[$0] }
    if original?.text != prompt.text || original?.conversation != prompt.conversation
      || original?.number != prompt.number || prompt.text.utf8.count > 524_288
    {
      found.add(.unstored, at: now, "a prompt differs from its stored form")
    }
    uploads.removeAll { $0.until <= now }
    let isFull = uploads.reduce(0) { $0 + $1.bytes } >= 16_384
    if isFull || prompt.idempotencyKey == nil && !uploads.isEmpty {
      found.add(.outranked, at: now, "a prompt was sent while others were on their way")
    }
    // The time that it takes to send the prompt at 16 KiB per second, plus a margin of 10 s.
    let bytes = prompt.text.utf8.count
    let time = Duration.seconds(bytes / 16_384 + 10)
    uploads.append(
      (prompt.idempotencyKey ?? "", bytes + 256, now.advanced(by: min(time, .seconds(60)))))
    guard let key else { return }
    if let last = prompts[key]?.sentAt, last.advanced(by: .seconds(30)) > now {
      found.add(.untimely, at: now, "a prompt was sent again within 30 s")
    }
    prompts[key]?.sentAt = now
  }

  /// Checks that a prompt moves from queued through sent and accepted to its end, and that an end
  /// without an answer states a reason.
  private mutating func shown(
    _ prompt: SessionPromptState, at now: Instant, _ found: inout Findings
  ) {
    if prompt.state != .sent { endUpload(prompt.key.description) }
    let old = prompts[prompt.key]?.state
    let isRight: Bool =
      switch prompt.state {
      case .queued: old == nil || prompt.reason != nil
      case .sent: prompt.reason == nil && old == .queued
      case .accepted: prompt.reason == nil && (old == .queued || old == .sent)
      case .answered: prompt.reason == nil
      case .failed, .interrupted, .unsure: prompt.reason != nil
      }
    if !isRight {
      let was = old.map { ", was \($0.rawValue)" } ?? ""
      found.add(.untrue, at: now, "a prompt is \(prompt.state.rawValue)\(was)")
    }
    switch prompt.state {
    case .answered, .failed, .interrupted, .unsure: prompts[prompt.key] = nil
    case .queued, .sent, .accepted:
      var next = prompts[prompt.key] ?? Prompt(prompt.state, at: now)
      next.state = prompt.state
      if prompt.state == .queued { next.sentAt = nil }
      if prompt.state == .accepted { (next.isAccepted, next.sentAt) = (true, now) }
      prompts[prompt.key] = next
    }
  }
}
