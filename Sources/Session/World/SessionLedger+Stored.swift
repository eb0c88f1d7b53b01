import HoldfastCore
import HoldfastLinkChecks
import HoldfastServerParts
import HoldfastSessionData
import HoldfastSessionServer
import HoldfastWorldKernel

// Checks of the server's changes, windows and counts.
extension SessionLedger {
  mutating func check(_ change: SessionChange, _ durable: StoredSessions) {
    switch change {
    case .prompt(let prompt):
      guard prompts.insert(prompt.id).inserted else { return }
      count("prompts_total")
      take(prompt)
    case .started(let id):
      if durable.prompts[id] == nil { wrong(.untrue, "a prompt was started that is not durable") }
    case .answered(let id, let answer): answered(id, answer, durable)
    case .taken(let id): taken(id, durable)
    case .prune(let id, let below):
      let last = durable.conversations[id]?.entries.compactMap(\.position).max() ?? 0
      if last + 1 < below + UInt64(policy.entriesPerConversation) {
        wrong(.untrue, "messages within the limit were removed")
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
    _ id: SessionPromptID, _ answer: StoredSessionAnswer, _ durable: StoredSessions
  ) {
    guard let prompt = durable.prompts[id] else {
      return wrong(.untrue, "an answer to a prompt that is not durable")
    }
    guard answers[id] == nil else {
      // The store failed to write the answer the first time.
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

  /// Returns whether a program failed because it reached a limit.
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

  private mutating func taken(_ id: SessionPromptID, _ durable: StoredSessions) {
    guard let answer = answers[id], let prompt = durable.prompts[id] else {
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

  /// Checks that the messages of an answer follow the existing messages: first the prompt, then the
  /// response.
  mutating func checkEntries(_ changes: [SessionChange], _ durable: StoredSessions) {
    for (index, change) in changes.enumerated() {
      guard case .answered(let id, let answer) = change, let prompt = durable.prompts[id],
        !confirmed.contains(id)
      else { continue }
      // If the key is not a UUID, it is not the ID of a message.
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
      checkPositions(entries)
    }
  }

  private mutating func checkPositions(_ entries: [SessionEntry]) {
    for entry in entries {
      let last = positions[entry.conversation] ?? 0
      let position = entry.position ?? 0
      // If the store failed to write a message, the message is stored again with its position.
      if position > last + 1 || position == 0 {
        wrong(.untrue, "a message has a place beyond the next")
      }
      positions[entry.conversation] = max(last, position)
    }
  }

  /// Handles a result of the store.
  mutating func written(_ token: StoreToken, _ failure: StoreFailure?) {
    guard let changes = writes.removeValue(forKey: token) else { return }
    if failure != nil {
      for case .prompt(let prompt) in changes { giveBack(prompt.id) }
      return count("store_failures_total")
    }
    for change in changes {
      switch change {
      case .prompt(let prompt): acknowledgeSoon(prompt)
      case .answered(let id, let answer): confirm(id, answer)
      case .entry(let entry): know(entry)
      case .client, .endClient, .started, .taken, .endPrompt, .conversation, .prune,
        .endConversation:
        continue
      }
    }
  }

  private mutating func acknowledgeSoon(_ prompt: StoredSessionPrompt) {
    guard table[prompt.id]?.isKnown == false else { return }
    table[prompt.id]?.isKnown = true
    if let number = prompt.prompt.number {
      lastPrompts[prompt.client] = max(lastPrompts[prompt.client] ?? 0, number)
    }
    if prompt.prompt.idempotencyKey == nil, let sender = table[prompt.id]?.sender,
      let socket = sockets[sender], !socket.isClosing
    {
      sockets[sender]?.sizes += 1
    }
    guard let key = prompt.prompt.idempotencyKey, let sender = senders[key],
      let socket = sockets[sender], !socket.isClosing, !confirmed.contains(prompt.id),
      answers[prompt.id] == nil, running[prompt.id] == nil
    else { return }
    due.insert(key)
  }

  private mutating func confirm(_ id: SessionPromptID, _ answer: StoredSessionAnswer) {
    guard confirmed.insert(id).inserted else { return }
    fresh.insert(answer.message)
    switch answer.result {
    case .success: count("answered_total{outcome=\"success\"}")
    case .failure("cancelled"): count("answered_total{outcome=\"cancelled\"}")
    case .failure("interrupted"): count("answered_total{outcome=\"interrupted\"}")
    case .failure: count("answered_total{outcome=\"failure\"}")
    }
  }

  private mutating func know(_ entry: SessionEntry) {
    stored[entry.conversation, default: []].insert(entry.position ?? 0)
    var last = known[entry.conversation] ?? 0
    while stored[entry.conversation]?.remove(last + 1) != nil { last += 1 }
    known[entry.conversation] = last
  }

  // MARK: Windows

  /// Checks that a window contains durable messages from the requested position on, without gaps.
  mutating func window(_ window: SessionHistory, _ id: ConnectionID, _ durable: StoredSessions) {
    guard let socket = sockets[id] else { return }
    let name = window.conversation
    let isNew = socket.version >= .newest
    let positions = window.entries.map { ($0.position ?? 0) + (isNew ? 1 : 0) }
    if !socket.subscriptions.contains(name) || positions.count > policy.windowEntries {
      wrong(.untrue, "a window that was not asked for, or of more messages than it may have")
    }
    let isRequested = socket.requested[name]?.isEmpty == false
    let (expected, isReplaced) = beginning(of: name, id, durable)
    for (position, entry) in zip(positions, window.entries)
    where !matchesStored(entry, position, durable) {
      wrong(.untrue, "a window's message differs from its stored form")
    }
    if zip(positions, positions.dropFirst()).contains(where: { $0 + 1 != $1 }) {
      wrong(.untrue, "a window has a hole")
    }
    let end = end(of: window, isNew, isReplaced, durable)
    sockets[id]?.next[name] = end
    if let gap = window.gap {
      checkGap(gap, expected ?? 0, positions.first, name)
    } else {
      let mayBegin = isReplaced && policy.entriesPerConversation < 1_000
      if (positions.first ?? end) != expected, !mayBegin {
        wrong(.untrue, "a window does not begin where it was asked for")
      }
      // Live messages arrive one at a time, and do not indicate whether more will follow.
      if isRequested, !isStored, window.isComplete != (end > known[name] ?? 0) {
        wrong(.untrue, "a window does not say whether there is more")
      }
    }
    if let last = positions.last, last + 1 != end {
      wrong(.untrue, "a window does not continue after its last message")
    }
  }

  /// Returns the position at which a window must begin, and whether a new file has replaced the one
  /// that the reader knows.
  private mutating func beginning(
    of name: String, _ id: ConnectionID, _ durable: StoredSessions
  ) -> (position: UInt64?, isReplaced: Bool) {
    guard let first = sockets[id]?.requested[name]?.first else {
      return (sockets[id]?.next[name], false)
    }
    sockets[id]?.requested[name]?.removeFirst()
    guard case .offset(_, let seen?) = first.cursor, !seen.isEmpty,
      seen != durable.conversations[name]?.signature ?? ""
    else { return (first.position, false) }
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
      wrong(.untrue, "a false gap was reported")
    }
  }

  private func matchesStored(_ entry: SessionEntry, _ position: UInt64, _ durable: StoredSessions)
    -> Bool
  {
    let all = durable.conversations[entry.conversation]?.entries ?? []
    guard let stored = all.last(where: { $0.position == position }) else { return false }
    return stored.id == entry.id && stored.role == entry.role
      && stored.timestamp == entry.timestamp
      && (stored.text == entry.text || isCut(entry.text, of: stored.text))
  }

  /// Returns the position after a window, as stated in the window.
  private mutating func end(
    of window: SessionHistory, _ isNew: Bool, _ mayReplace: Bool, _ durable: StoredSessions
  ) -> UInt64 {
    switch window.extent {
    case .sequence(let first, let last, let next):
      if isNew || first != window.entries.first?.position
        || window.gap == nil && last != window.entries.last?.position
      {
        wrong(.untrue, "a window's position does not match its messages")
      }
      return next
    case .offset(let next, let signature, let isReplaced):
      let isRight = isReplaced == mayReplace || known[window.conversation] == nil
      let stored = durable.conversations[window.conversation]?.signature
      if !isNew || !isRight || signature != stored ?? "" && known[window.conversation] != nil {
        wrong(.untrue, "a window is of another conversation")
      }
      return next + 1
    }
  }

  // MARK: Numbers

  /// Compares the metrics of an idle server with the expected counts.
  mutating func compare(_ page: String) {
    for (_, counts) in cancellations where counts.values.contains(where: { $0.reported == 0 }) {
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
      let fields = line.dropFirst("holdfast_session_".count).split(separator: " ")
      guard fields.count == 2, let value = UInt64(fields[1]) else { continue }
      let wanted = expected.removeValue(forKey: String(fields[0])) ?? 0
      // A client may still acknowledge an answer until the store confirms that the answer is lost.
      let isUnsure = policy.answersPerClient < 1_000 && Self.ofAnswers.contains(fields[0])
      guard !Self.uncounted.contains(fields[0]), !isUnsure else { continue }
      if wanted != value { wrong(.miscounted, "\(fields[0]) is \(value) instead of \(wanted)") }
    }
    for (name, value) in expected.sorted(by: { $0.key < $1.key }) where value > 0 {
      wrong(.miscounted, "\(name) is not there instead of \(value)")
    }
  }

  /// The metrics that depend on more than messages and changes.
  private static let uncounted: Set<Substring> = [
    "clients", "answers", "history_bytes", "replayed_total",
  ]
  private static let ofAnswers: Set<Substring> = ["acknowledged_total", "lost_total"]
}

// Checks of admission: which clients the server admits, which messages it accepts, and how it
// refuses the others.
extension SessionLedger {
  /// A prompt as the server received it.
  struct ReceivedPrompt: Sendable {
    var client: String
    let prompt: SessionPrompt
    /// The connection that first sent the prompt, if that was in this run.
    var sender: ConnectionID?
    /// Whether the store has confirmed to the server that the prompt is stored.
    var isKnown = false

    var size: Int { prompt.text.utf8.count + (prompt.systemPrompt?.utf8.count ?? 0) }

    func isSame(as other: SessionPrompt) -> Bool {
      prompt.text == other.text && prompt.conversation == other.conversation
        && prompt.workingDirectory == other.workingDirectory && prompt.provider == other.provider
        && prompt.systemPrompt == other.systemPrompt
    }
  }

  // MARK: The handshake

  /// Determines whether the server must accept or refuse a new connection.
  mutating func opened(_ id: ConnectionID, _ arrival: SessionServer.Arrival) {
    arrivals[id] = arrival
    let neighbours = sockets.values.count { $0.address == arrival.address }
    var status: Int?
    if neighbours >= policy.socketsPerAddress { status = 429 }
    if isDraining || sockets.count >= policy.maxSockets { status = 503 }
    opening = (id, status)
  }

  mutating func accept(_ id: ConnectionID) {
    count("opened_total")
    if opening?.id != id || opening?.status != nil {
      wrong(.untrue, "a connection was taken although there is no room")
    }
    opening = nil
    let arrival = arrivals.removeValue(forKey: id)
    sockets[id] = Socket(
      challenge: arrival?.challenge ?? "", address: arrival?.address ?? "", openedAt: now,
      lastReceived: now, pingAt: now, beatAt: now)
  }

  mutating func refuse(_ id: ConnectionID, _ answer: HTTPRefusal) {
    count("refused_total")
    if opening?.id != id || opening?.status != answer.status
      || answer.retryAfter != policy.busyRetry
    {
      wrong(.untrue, "a connection was refused although there is room")
    }
    opening = nil
  }

  /// Handles a message from a client that is not connected yet.
  mutating func enter(
    _ id: ConnectionID, _ message: SessionClientMessage, _ proof: SessionServer.Proof
  ) {
    guard case .connect(let connect) = message, isProven(connect, proof) else {
      return refuseHandshake(id)
    }
    sockets[id]?.connect = connect
    let numbers = (connect.version ?? "0.4.0").split(separator: ".").compactMap { Int($0) }
    if numbers.count == 3, numbers[0] == 0, numbers[1] < 4 {
      refusals[id, default: []].append("unsupported_protocol_version")
      closings[id] = 4426
      return
    }
    entrances.insert(id)
    let others = sockets.filter { other in
      other.value.stage == .connected && !other.value.isClosing
        && other.value.connect?.session == connect.session
    }
    guard others.count >= policy.socketsPerClient else { return }
    if let oldest = others.min(by: { $0.value.order < $1.value.order }) {
      closings[oldest.key] = 4409
    }
  }

  private func isProven(_ connect: SessionConnect, _ proof: SessionServer.Proof) -> Bool {
    switch proof {
    case .none: return false
    case .key: return true
    case .challenge:
      guard let time = connect.timestamp else { return false }
      let skew = wall.duration(to: time)
      return skew <= .seconds(30) && skew >= .seconds(-30)
    }
  }

  mutating func refuseHandshake(_ id: ConnectionID) {
    unproven.insert(id)
    closings[id] = 4401
  }

  // MARK: Messages

  mutating func unreadable(_ id: ConnectionID, _ field: String?) {
    guard let socket = sockets[id], !socket.isClosing else { return }
    count("unreadable_total")
    guard socket.stage == .connected else { return refuseHandshake(id) }
    let ofCursors: Set<String?> = ["last_seq", "from_offset", "file_signature_seen", "sessions"]
    refuse(id, ofCursors.contains(field) ? "invalid_subscribe" : "invalid_message")
  }

  mutating func refuse(_ id: ConnectionID, _ code: String) {
    refusals[id, default: []].append(code)
  }

  /// Records the windows that a client requests, unless the requests must be refused.
  mutating func ask(_ id: ConnectionID, _ all: [SessionSubscription]) {
    for one in all {
      guard let socket = sockets[id] else { return }
      let isNew = socket.version >= .newest
      let isKnown = socket.subscriptions.contains(one.conversation)
      let position: UInt64
      switch one.cursor {
      case .sequence(let last):
        if isNew, last > 0 {
          refuse(id, "invalid_subscribe")
          continue
        }
        position = last + 1
      case .offset(let offset, _):
        if !isNew {
          refuse(id, "unsupported_subscribe_field")
          continue
        }
        position = offset + 1
      }
      if !isKnown, socket.subscriptions.count >= policy.maxSubscriptions {
        refuse(id, "too_many_subscriptions")
        continue
      }
      sockets[id]?.subscriptions.insert(one.conversation)
      sockets[id]?.requested[one.conversation, default: []].append((one.cursor, position))
    }
  }

  mutating func unsubscribe(_ id: ConnectionID, _ conversation: String) {
    sockets[id]?.subscriptions.remove(conversation)
    sockets[id]?.requested[conversation] = nil
    sockets[id]?.next[conversation] = nil
  }

  // MARK: Prompts

  /// Handles a client's prompt. The prompt is already known, accepted or refused.
  mutating func received(_ prompt: SessionPrompt, _ client: String, on id: ConnectionID) {
    count("said")
    if let key = prompt.idempotencyKey {
      let all = table.filter { $0.value.prompt.idempotencyKey == key }
      let own = all.first { $0.value.client == client }
      if let own, !own.value.isSame(as: prompt) { return refuse(id, "idempotency_conflict") }
      if let known = own ?? all.first(where: { $0.value.isSame(as: prompt) }) {
        senders[key] = id
        guard !confirmed.contains(known.key) else { return }
        if answers[known.key] == nil { table[known.key]?.client = client }
        if known.value.isKnown { due.insert(key) }
        return
      }
    }
    if let code = refusal(of: prompt, client) { return refuse(id, code) }
    if let key = prompt.idempotencyKey { senders[key] = id }
    expected = (prompt, client, id)
  }

  private mutating func refusal(of prompt: SessionPrompt, _ client: String) -> String? {
    // A client may first send a burst, and then one prompt per interval.
    let full = max(fullAt[client] ?? now, now)
    let most = policy.promptInterval * (policy.promptBurst - 1)
    if now.duration(to: full) > most { return "rate_limited" }
    fullAt[client] = full.advanced(by: policy.promptInterval)
    if isDraining { return "draining" }
    let system = prompt.systemPrompt?.utf8.count ?? 0
    let size = prompt.text.utf8.count + system
    if size > policy.maxPromptBytes || system > policy.maxSystemPromptBytes { return "too_long" }
    let open = table.filter { !confirmed.contains($0.key) }.values
    let line = open.count { $0.prompt.conversation == prompt.conversation }
    let isFull =
      line >= policy.promptsPerConversation || open.count >= policy.maxPrompts
      || open.reduce(size, { $0 + $1.size }) > policy.maxPromptsBytes
      || writes.count >= policy.maxWrites
    return isFull ? "busy" : nil
  }

  /// Handles a change that stores a new prompt.
  mutating func take(_ prompt: StoredSessionPrompt) {
    if let expected, expected.prompt == prompt.prompt, expected.client == prompt.client,
      prompt.at == wall, prompt.id.number > lastPrompt
    {
      table[prompt.id] = ReceivedPrompt(
        client: prompt.client, prompt: prompt.prompt, sender: expected.id)
    } else {
      wrong(.untrue, "a stored prompt differs from the one sent")
    }
    lastPrompt = max(lastPrompt, prompt.id.number)
    expected = nil
  }

  /// Handles a failure to store a new prompt. The server must report it to the sender.
  mutating func giveBack(_ id: SessionPromptID) {
    guard let prompt = table[id], !prompt.isKnown else { return }
    table[id] = nil
    let sender = prompt.prompt.idempotencyKey.map { senders[$0] } ?? prompt.sender
    if let sender, let socket = sockets[sender], !socket.isClosing {
      refuse(sender, "store_failed")
    }
  }

  // MARK: Obligations of a step

  mutating func refused(_ error: SessionError, _ id: ConnectionID) {
    let code = error.code ?? ""
    if code == "unsupported_protocol_version" {
      count("outdated_total")
      if error.required != SessionVersion(0, 4, 0)
        || error.received != sockets[id]?.connect?.version
      {
        wrong(.untrue, "a refusal names other versions")
      }
    } else {
      count("errors_total{code=\"\(code)\"}")
    }
    guard let index = refusals[id]?.firstIndex(of: code) else {
      return wrong(.untrue, "\(code) was said, and nothing called for it")
    }
    refusals[id]?.remove(at: index)
  }

  mutating func finishRefusals() {
    for (_, codes) in refusals.sorted(by: { $0.key < $1.key }) {
      for code in codes { wrong(.untrue, "\(code) was due and was not said") }
    }
    for (id, code) in closings where sockets[id]?.isClosing == false {
      wrong(.untrue, "a connection was to be closed with \(code) and was not")
    }
    if !unproven.isEmpty { wrong(.untrue, "a wrong proof was not refused") }
    if !entrances.isEmpty { wrong(.untrue, "a client with a proof was not connected") }
    if !warnings.isEmpty { wrong(.untrue, "a client was not told of a drain") }
    if opening != nil { wrong(.untrue, "an upgrade was not answered") }
    if expected != nil { wrong(.untrue, "a prompt was neither taken nor refused") }
    (refusals, closings, unproven, entrances, warnings) = ([:], [:], [], [], [])
    (opening, expected) = (nil, nil)
  }
}
