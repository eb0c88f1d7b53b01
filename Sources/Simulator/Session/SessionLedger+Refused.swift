import LinkCore
import LinkServerCore
import LinkWire

// What the server must refuse: whom it lets in, what it takes, and what it says when it does not.
extension SessionLedger {
  /// A prompt as the server was given it.
  struct Asked: Sendable {
    var client: String
    let prompt: SessionPrompt
    /// Who sent it first, if that was in this run.
    var asker: ConnectionID?
    /// Whether the server knows that it is durable.
    var isKnown = false

    var size: Int { prompt.text.utf8.count + (prompt.systemPrompt?.utf8.count ?? 0) }

    func isSame(as other: SessionPrompt) -> Bool {
      prompt.text == other.text && prompt.conversation == other.conversation
        && prompt.workingDirectory == other.workingDirectory && prompt.provider == other.provider
        && prompt.systemPrompt == other.systemPrompt
    }
  }

  // MARK: The entrance

  /// A connection is wanted: it is accepted or refused as the bounds have it.
  mutating func knock(_ id: ConnectionID, _ arrival: SessionServer.Arrival) {
    arrivals[id] = arrival
    let neighbours = sockets.values.count { $0.address == arrival.address }
    var status: Int?
    if neighbours >= policy.socketsPerAddress { status = 429 }
    if isDraining || sockets.count >= policy.maxSockets { status = 503 }
    knocking = (id, status)
  }

  mutating func accept(_ id: ConnectionID) {
    count("opened_total")
    if knocking?.id != id || knocking?.status != nil {
      wrong(.untrue, "a connection was taken although there is no room")
    }
    knocking = nil
    let arrival = arrivals.removeValue(forKey: id)
    sockets[id] = Socket(
      challenge: arrival?.challenge ?? "", address: arrival?.address ?? "", openedAt: now,
      heardAt: now, pingAt: now, beatAt: now)
  }

  mutating func refuse(_ id: ConnectionID, _ answer: HTTPRefusal) {
    count("refused_total")
    if knocking?.id != id || knocking?.status != answer.status
      || answer.retryAfter != policy.busyRetry
    {
      wrong(.untrue, "a connection was refused although there is room")
    }
    knocking = nil
  }

  /// What a client says that has not entered.
  mutating func enter(
    _ id: ConnectionID, _ message: SessionClientMessage, _ proof: SessionServer.Proof
  ) {
    guard case .connect(let connect) = message, isProven(connect, proof) else {
      return refuseEntrance(id)
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

  mutating func refuseEntrance(_ id: ConnectionID) {
    unproven.insert(id)
    closings[id] = 4401
  }

  // MARK: Messages

  mutating func unreadable(_ id: ConnectionID, _ field: String?) {
    guard let socket = sockets[id], !socket.isClosing else { return }
    count("unreadable_total")
    guard socket.stage == .connected else { return refuseEntrance(id) }
    let ofCursors: Set<String?> = ["last_seq", "from_offset", "file_signature_seen", "sessions"]
    refuse(id, ofCursors.contains(field) ? "invalid_subscribe" : "invalid_message")
  }

  mutating func refuse(_ id: ConnectionID, _ code: String) {
    refusals[id, default: []].append(code)
  }

  /// Notes what a client asks for, unless it may not.
  mutating func ask(_ id: ConnectionID, _ all: [SessionSubscription]) {
    for one in all {
      guard let socket = sockets[id] else { return }
      let isNew = socket.version >= .newest
      let isKnown = socket.subscriptions.contains(one.conversation)
      let place: UInt64
      switch one.cursor {
      case .sequence(let last):
        if isNew, last > 0 {
          refuse(id, "invalid_subscribe")
          continue
        }
        place = last + 1
      case .offset(let offset, _):
        if !isNew {
          refuse(id, "unsupported_subscribe_field")
          continue
        }
        place = offset + 1
      }
      if !isKnown, socket.subscriptions.count >= policy.maxSubscriptions {
        refuse(id, "too_many_subscriptions")
        continue
      }
      sockets[id]?.subscriptions.insert(one.conversation)
      sockets[id]?.asked[one.conversation, default: []].append((one.cursor, place))
    }
  }

  mutating func unsubscribe(_ id: ConnectionID, _ conversation: String) {
    sockets[id]?.subscriptions.remove(conversation)
    sockets[id]?.asked[conversation] = nil
    sockets[id]?.next[conversation] = nil
  }

  // MARK: Prompts

  /// A client sends a prompt: it is known, taken or refused.
  mutating func asked(_ prompt: SessionPrompt, _ client: String, on id: ConnectionID) {
    count("said")
    if let key = prompt.idempotencyKey {
      let all = table.filter { $0.value.prompt.idempotencyKey == key }
      let own = all.first { $0.value.client == client }
      if let own, !own.value.isSame(as: prompt) { return refuse(id, "idempotency_conflict") }
      if let known = own ?? all.first(where: { $0.value.isSame(as: prompt) }) {
        askers[key] = id
        guard !settled.contains(known.key) else { return }
        if answers[known.key] == nil { table[known.key]?.client = client }
        if known.value.isKnown { due.insert(key) }
        return
      }
    }
    if let code = refusal(of: prompt, client) { return refuse(id, code) }
    if let key = prompt.idempotencyKey { askers[key] = id }
    expected = (prompt, client, id)
  }

  private mutating func refusal(of prompt: SessionPrompt, _ client: String) -> String? {
    // So many at once, then one in each interval.
    let full = max(fullAt[client] ?? now, now)
    let most = policy.promptInterval * (policy.promptBurst - 1)
    if now.duration(to: full) > most { return "rate_limited" }
    fullAt[client] = full.advanced(by: policy.promptInterval)
    if isDraining { return "draining" }
    let system = prompt.systemPrompt?.utf8.count ?? 0
    let size = prompt.text.utf8.count + system
    if size > policy.maxPromptBytes || system > policy.maxSystemPromptBytes { return "too_long" }
    let open = table.filter { !settled.contains($0.key) }.values
    let line = open.count { $0.prompt.conversation == prompt.conversation }
    let isFull =
      line >= policy.promptsPerConversation || open.count >= policy.maxPrompts
      || open.reduce(size, { $0 + $1.size }) > policy.maxPromptsBytes
      || writes.count >= policy.maxWrites
    return isFull ? "busy" : nil
  }

  /// A new prompt is to be stored.
  mutating func take(_ prompt: KeptSessionPrompt) {
    if let expected, expected.prompt == prompt.prompt, expected.client == prompt.client,
      prompt.at == wall, prompt.id.number > lastPrompt
    {
      table[prompt.id] = Asked(client: prompt.client, prompt: prompt.prompt, asker: expected.id)
    } else {
      wrong(.untrue, "a prompt was taken otherwise than it was sent")
    }
    lastPrompt = max(lastPrompt, prompt.id.number)
    expected = nil
  }

  /// The store has failed to take a new prompt: who sent it is told.
  mutating func giveBack(_ id: SessionPromptID) {
    guard let asked = table[id], !asked.isKnown else { return }
    table[id] = nil
    let asker = asked.prompt.idempotencyKey.map { askers[$0] } ?? asked.asker
    if let asker, let socket = sockets[asker], !socket.isClosing { refuse(asker, "store_failed") }
  }

  // MARK: What was due

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

  mutating func settleRefusals() {
    for (_, codes) in refusals.sorted(by: { $0.key < $1.key }) {
      for code in codes { wrong(.untrue, "\(code) was due and was not said") }
    }
    for (id, code) in closings where sockets[id]?.isClosing == false {
      wrong(.untrue, "a connection was to be closed with \(code) and was not")
    }
    if !unproven.isEmpty { wrong(.untrue, "a wrong proof was not refused") }
    if !entrances.isEmpty { wrong(.untrue, "a client with a proof was not connected") }
    if !warnings.isEmpty { wrong(.untrue, "a client was not told of a drain") }
    if knocking != nil { wrong(.untrue, "an upgrade was not answered") }
    if expected != nil { wrong(.untrue, "a prompt was neither taken nor refused") }
    (refusals, closings, unproven, entrances, warnings) = ([:], [:], [], [], [])
    (knocking, expected) = (nil, nil)
  }
}
