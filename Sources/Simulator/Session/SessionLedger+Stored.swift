import LinkCore
import LinkServerCore
import LinkWire

// What the server stores, what its windows show of that, and what it counts.
extension SessionLedger {
  mutating func check(_ change: SessionChange, _ kept: SessionKept) {
    switch change {
    case .prompt(let prompt):
      guard prompts.insert(prompt.id).inserted else { return }
      count("prompts_total")
      take(prompt)
    case .started(let id):
      if kept.prompts[id] == nil { wrong(.untrue, "a prompt was started that is not durable") }
    case .answered(let id, let answer): answered(id, answer, kept)
    case .taken(let id): taken(id, kept)
    case .prune(let id, let below):
      let last = kept.conversations[id]?.entries.compactMap(\.place).max() ?? 0
      if last + 1 < below + UInt64(policy.entriesPerConversation) {
        wrong(.untrue, "more messages were removed than are too many")
      }
    case .endClient, .endPrompt, .endConversation:
      wrong(.untrue, "something was forgotten although there is room")
    case .client(let client):
      if client.lastNumber > numbers[client.id] ?? 0 {
        wrong(.untrue, "a client has a number that no message had")
      }
    case .conversation, .entry: return
    }
  }

  private mutating func answered(
    _ id: SessionPromptID, _ answer: KeptSessionAnswer, _ kept: SessionKept
  ) {
    guard let prompt = kept.prompts[id] else {
      return wrong(.untrue, "an answer to a prompt that is not durable")
    }
    guard answers[id] == nil else {
      // The store has failed to keep it before.
      if answers[id] != answer { wrong(.untrue, "a prompt has two answers") }
      return
    }
    answers[id] = answer
    let number = (numbers[prompt.client] ?? 0) + 1
    if answer.number != number || answer.isTaken || answer.at != wall {
      wrong(.untrue, "an answer has another number or time than the next one")
    }
    numbers[prompt.client] = answer.number
    let isInterrupted =
      answer.result == .failure(error: "interrupted") && (isDraining || broken.contains(id))
    let isCancelled =
      answer.result == .failure(error: "cancelled") && kills.contains(prompt.prompt.conversation)
    if case .success(let text) = answer.result, text.utf8.count > policy.maxResponseBytes {
      wrong(.unbounded, "an answer has more bytes than it may")
    }
    if ends[id] != answer.result, !isInterrupted, !isCancelled, !isBound(answer.result, id) {
      wrong(.untrue, "the answer is not what the program said")
    }
    (running[id], startedAt[id], endedAt[id], written[id]) = (nil, nil, nil, nil)
    owners[answer.message] = prompt.client
  }

  /// Whether a program that did not end well failed for a bound.
  private func isBound(_ result: SessionResponse.Result, _ id: SessionPromptID) -> Bool {
    let longest = policy.maxResponseBytes
    let tooLong = SessionResponse.Result.failure(
      error: "the response is longer than \(longest) bytes")
    let late = SessionResponse.Result.failure(
      error: "no answer within \(policy.turnLimit.components.seconds)s")
    let isLate = startedAt[id].map { $0.advanced(by: policy.turnLimit) <= now } ?? false
    var length = written[id] ?? 0
    if case .success(let text) = ends[id] { length = max(length, text.utf8.count) }
    return result == late && isLate || result == tooLong && length > longest
  }

  private mutating func taken(_ id: SessionPromptID, _ kept: SessionKept) {
    guard let answer = answers[id], let prompt = kept.prompts[id] else {
      return wrong(.untrue, "a message was taken that is not durable")
    }
    guard counted.insert(id).inserted else { return }
    let isKnown =
      acknowledged.contains(answer.message)
      || answer.number <= received[prompt.client] ?? 0
    if isKnown {
      count("acknowledged_total")
    } else {
      count("lost_total")
      if policy.answersPerClient >= 1_000 {
        wrong(.untrue, "a message was given up that its client did not acknowledge")
      }
    }
  }

  /// The messages of an answer stand behind those that are there: the prompt, then what was said.
  mutating func checkEntries(_ changes: [SessionChange], _ kept: SessionKept) {
    for (index, change) in changes.enumerated() {
      guard case .answered(let id, let answer) = change, let prompt = kept.prompts[id],
        !settled.contains(id)
      else { continue }
      // Another key is no id of a message.
      let key = prompt.prompt.idempotencyKey.flatMap { UUID128($0) }?.description
      let rest = changes[(index + 1)...].prefix { change in
        if case .answered = change { false } else { true }
      }
      let entries = rest.compactMap { change in
        if case .entry(let entry) = change { entry } else { nil }
      }
      var texts = [prompt.prompt.text]
      if case .success(let text) = answer.result { texts.append(text) }
      let isRight =
        entries.map(\.text) == texts && entries.first?.role == .user
        && entries.first?.id == key ?? entries.first?.id && entries.first?.timestamp == prompt.at
        && entries.allSatisfy { $0.conversation == prompt.prompt.conversation }
        && entries.dropFirst().allSatisfy {
          $0.id == answer.message && $0.role == .assistant && $0.timestamp == answer.at
        }
      if !isRight { wrong(.untrue, "the messages of a prompt are not its own") }
      place(entries)
    }
  }

  private mutating func place(_ entries: [SessionEntry]) {
    for entry in entries {
      let last = places[entry.conversation] ?? 0
      let place = entry.place ?? 0
      // One that the store has failed to keep comes again with its place.
      if place > last + 1 || place == 0 { wrong(.untrue, "a message has a place beyond the next") }
      places[entry.conversation] = max(last, place)
    }
  }

  /// The store has answered.
  mutating func written(_ token: StoreToken, _ failure: StoreFailure?) {
    guard let changes = writes.removeValue(forKey: token) else { return }
    if failure != nil {
      for case .prompt(let prompt) in changes { giveBack(prompt.id) }
      return count("store_failures_total")
    }
    for change in changes {
      switch change {
      case .prompt(let prompt): acknowledgeSoon(prompt)
      case .answered(let id, let answer): settle(id, answer)
      case .entry(let entry): know(entry)
      case .client, .endClient, .started, .taken, .endPrompt, .conversation, .prune,
        .endConversation:
        continue
      }
    }
  }

  private mutating func acknowledgeSoon(_ prompt: KeptSessionPrompt) {
    guard table[prompt.id]?.isKnown == false else { return }
    table[prompt.id]?.isKnown = true
    if let number = prompt.prompt.number {
      lastPrompts[prompt.client] = max(lastPrompts[prompt.client] ?? 0, number)
    }
    if prompt.prompt.idempotencyKey == nil, let asker = table[prompt.id]?.asker,
      let socket = sockets[asker], !socket.isClosing
    {
      sockets[asker]?.sizes += 1
    }
    guard let key = prompt.prompt.idempotencyKey, let asker = askers[key],
      let socket = sockets[asker], !socket.isClosing, !settled.contains(prompt.id),
      answers[prompt.id] == nil, running[prompt.id] == nil
    else { return }
    due.insert(key)
  }

  private mutating func settle(_ id: SessionPromptID, _ answer: KeptSessionAnswer) {
    guard settled.insert(id).inserted else { return }
    fresh.insert(answer.message)
    switch answer.result {
    case .success: count("answered_total{outcome=\"success\"}")
    case .failure("cancelled"): count("answered_total{outcome=\"cancelled\"}")
    case .failure("interrupted"): count("answered_total{outcome=\"interrupted\"}")
    case .failure: count("answered_total{outcome=\"failure\"}")
    }
  }

  private mutating func know(_ entry: SessionEntry) {
    stored[entry.conversation, default: []].insert(entry.place ?? 0)
    var last = known[entry.conversation] ?? 0
    while stored[entry.conversation]?.remove(last + 1) != nil { last += 1 }
    known[entry.conversation] = last
  }

  // MARK: Windows

  /// A window shows what is durable, from the place that was asked for, without a hole.
  mutating func window(_ window: SessionHistory, _ id: ConnectionID, _ kept: SessionKept) {
    guard let socket = sockets[id] else { return }
    let name = window.conversation
    let isNew = socket.version >= .newest
    let places = window.entries.map { ($0.place ?? 0) + (isNew ? 1 : 0) }
    if !socket.subscriptions.contains(name) || places.count > policy.windowEntries {
      wrong(.untrue, "a window that was not asked for, or of more messages than it may have")
    }
    let isAsked = socket.asked[name]?.isEmpty == false
    let (expected, isReplaced) = beginning(of: name, id, kept)
    for (place, entry) in zip(places, window.entries) where !isKept(entry, place, kept) {
      wrong(.untrue, "a window shows a message otherwise than it is stored")
    }
    if zip(places, places.dropFirst()).contains(where: { $0 + 1 != $1 }) {
      wrong(.untrue, "a window has a hole")
    }
    let end = end(of: window, isNew, isReplaced, kept)
    sockets[id]?.next[name] = end
    if let gap = window.gap {
      checkGap(gap, expected ?? 0, places.first, name)
    } else {
      let mayBegin = isReplaced && policy.entriesPerConversation < 1_000
      if (places.first ?? end) != expected, !mayBegin {
        wrong(.untrue, "a window does not begin where it was asked for")
      }
      // One message at a time comes live, and says nothing about those behind it.
      if isAsked, !isStored, window.isComplete != (end > known[name] ?? 0) {
        wrong(.untrue, "a window does not say whether there is more")
      }
    }
    if let last = places.last, last + 1 != end {
      wrong(.untrue, "a window goes on elsewhere than behind its last message")
    }
  }

  /// The place from which a window is due, and whether it is of another file than its reader has.
  private mutating func beginning(
    of name: String, _ id: ConnectionID, _ kept: SessionKept
  ) -> (place: UInt64?, isReplaced: Bool) {
    guard let first = sockets[id]?.asked[name]?.first else {
      return (sockets[id]?.next[name], false)
    }
    sockets[id]?.asked[name]?.removeFirst()
    guard case .offset(_, let seen?) = first.cursor, !seen.isEmpty,
      seen != kept.conversations[name]?.signature ?? ""
    else { return (first.place, false) }
    return (1, true)
  }

  private mutating func checkGap(
    _ gap: SessionHistory.Gap, _ expected: UInt64, _ first: UInt64?, _ name: String
  ) {
    let isTrue: Bool =
      switch gap.reason {
      case .pruned: gap.oldest > expected && policy.entriesPerConversation < 1_000
      case .clientAhead: expected > (known[name] ?? 0) + 1
      }
    if !isTrue || gap.requested + 1 != expected || first.map({ $0 != gap.oldest }) ?? false {
      wrong(.untrue, "a gap that is none")
    }
  }

  private func isKept(_ entry: SessionEntry, _ place: UInt64, _ kept: SessionKept) -> Bool {
    let all = kept.conversations[entry.conversation]?.entries ?? []
    guard let stored = all.last(where: { $0.place == place }) else { return false }
    return stored.id == entry.id && stored.role == entry.role
      && stored.timestamp == entry.timestamp
      && (stored.text == entry.text || isCut(entry.text, of: stored.text))
  }

  /// The place behind a window, as it says.
  private mutating func end(
    of window: SessionHistory, _ isNew: Bool, _ mayReplace: Bool, _ kept: SessionKept
  ) -> UInt64 {
    switch window.place {
    case .sequence(let first, let last, let next):
      if isNew || first != window.entries.first?.place
        || window.gap == nil && last != window.entries.last?.place
      {
        wrong(.untrue, "a window says another place than its messages")
      }
      return next
    case .offset(let next, let signature, let isReplaced):
      let isRight = isReplaced == mayReplace || known[window.conversation] == nil
      let kept = kept.conversations[window.conversation]?.signature
      if !isNew || !isRight || signature != kept ?? "" && known[window.conversation] != nil {
        wrong(.untrue, "a window is of another conversation")
      }
      return next + 1
    }
  }

  // MARK: Numbers

  /// Compares the metrics of a server that has nothing to do any more.
  mutating func compare(_ page: String) {
    for (_, asked) in killers where asked.values.contains(where: { $0.told == 0 }) {
      wrong(.untrue, "a cancellation was not answered")
    }
    var expected = counts
    let refused = ["idempotency_conflict", "rate_limited", "draining", "too_long", "busy"]
      .reduce(0) { $0 + (counts["errors_total{code=\"\($1)\"}"] ?? 0) }
    let prompts = counts["prompts_total"] ?? 0
    let said = expected.removeValue(forKey: "said") ?? 0
    expected["repeated_total"] = said < prompts + refused ? 0 : said - prompts - refused
    expected["unrecovered_total"] = counts["errors_total{code=\"not_recovered\"}"]
    expected["sockets"] = UInt64(sockets.count)
    expected["handlers"] = UInt64(running.count)
    expected["prompts_open"] = 0
    for line in page.split(separator: "\n") where line.hasPrefix("holdfast_session_") {
      let words = line.dropFirst("holdfast_session_".count).split(separator: " ")
      guard words.count == 2, let value = UInt64(words[1]) else { continue }
      let wanted = expected.removeValue(forKey: String(words[0])) ?? 0
      // Between its loss and the store's word, a client may still acknowledge an answer.
      let isUnsure = policy.answersPerClient < 1_000 && Self.ofAnswers.contains(words[0])
      guard !Self.uncounted.contains(words[0]), !isUnsure else { continue }
      if wanted != value { wrong(.miscounted, "\(words[0]) is \(value) instead of \(wanted)") }
    }
    for (name, value) in expected.sorted(by: { $0.key < $1.key }) where value > 0 {
      wrong(.miscounted, "\(name) is not there instead of \(value)")
    }
  }

  /// What depends on more than was said and stored.
  private static let uncounted: Set<Substring> = [
    "clients", "answers", "history_bytes", "replayed_total",
  ]
  private static let ofAnswers: Set<Substring> = ["acknowledged_total", "lost_total"]
}
