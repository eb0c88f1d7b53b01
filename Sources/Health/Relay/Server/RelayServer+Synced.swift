public import HoldfastCore
public import HoldfastHealth
import HoldfastJSON
public import HoldfastRelayData
import HoldfastServerParts

/// Whose synced samples answer questions to a phone, as the backend read it from a phone's order.
public enum SyncedChoice: Sendable, Hashable, Codable {
  /// The samples of this user of health sync.
  case user(SyncedUser)
  /// No samples.
  case none
  /// No user has the secret of the order.
  case unknownSecret
}

// Answers from synced samples, while a phone is away or does not wake.
//
// The phone is asked in the meantime, and its answer is taken if it is first.
extension RelayServer {
  /// Handles a phone's order about synced samples. A wrong secret counts against the phone and
  /// against its address, like a wrong pairing code.
  mutating func take(
    _ request: RequestID, _ choice: SyncedChoice, from address: String, of id: PhoneID
  ) {
    let name = "phone \(id)"
    if choice != .none, let wait = wrongSecrets.wait(address, and: name, at: now) {
      return respond(request, .refused(.lockedOut(retryAfter: wait)))
    }
    let user: SyncedUser?
    switch choice {
    case .user(let found): user = found
    case .none: user = nil
    case .unknownSecret:
      wrongSecrets.wrong(address, and: name, at: now)
      return respond(request, .refused(.unknownSecret))
    }
    phones.change(id) { $0.synced = user }
    store(phones[id]?.changes ?? [], then: .synced(request, user: user?.name))
    armLine(of: id)
    armGrace(id)
  }

  /// Allows or forbids an assistant to read synced samples. Returns false if the phone has no such
  /// assistant.
  mutating func allowSynced(_ allows: Bool, to name: String, of id: PhoneID) -> Bool {
    guard let token = tokens.tokens(of: id).first(where: { $0.shortName == name }) else {
      return false
    }
    if let access = tokens.allowSynced(allows, to: token) { store([.access(access)]) }
    armLine(of: id)
    armGrace(id)
    return true
  }

  /// Returns the user whose samples may answer the questions of an access, or `nil` for none.
  func syncedUser(of access: RelayAccess) -> SyncedUser? {
    guard access.stored.readsSynced, let phone = phones[access.phone], !phone.isOver else {
      return nil
    }
    return phone.synced
  }

  /// Returns when synced samples answer a question, or `nil` if they do not.
  ///
  /// A phone that is not expected is not waited for. One that can be woken has `syncedWait`, and
  /// one that is here has that time since it was heard last.
  func syncedDue(_ question: RelayQuestion) -> Instant? {
    guard question.call != nil, question.synced == .unread, let access = tokens[question.caller],
      syncedUser(of: access) != nil, let phone = phones[question.phone]
    else { return nil }
    if let until = phone.mayReturn(within: policy.returnWait), until <= now {
      return question.since
    }
    let heard = phone.connection.flatMap { sockets.lastReceived($0) } ?? question.since
    return max(question.since, heard).advanced(by: policy.syncedWait)
  }

  /// Reads synced samples for a question if that is due. Returns whether it is being read.
  @discardableResult
  mutating func readSyncedIfDue(_ id: QuestionID) -> Bool {
    guard let question = questions[id], let due = syncedDue(question), due <= now,
      let user = tokens[question.caller].flatMap({ syncedUser(of: $0) })
    else { return questions[id]?.synced == .reading }
    questions.note(.reading, of: id)
    arm(id)
    emit(.readSynced(question.id, question.question, user))
    return true
  }

  /// Handles the answer of synced samples. It is `nil` if there are none, or if they cannot be read;
  /// the phone is then waited for as without them.
  mutating func synced(_ name: RelayRequestID, _ answer: HealthObject?) {
    guard let id = questions.named(name), questions[id]?.synced == .reading else { return }
    questions.note(.read, of: id)
    guard let answer, answer.bytes.count <= policy.maxAnswerBytes else { return wake(id) }
    metrics.synced += 1
    finish(id, .data(answer))
  }
}

extension HealthObject {
  /// Returns an answer from synced samples, which says so.
  ///
  /// - Parameter time: The time of the newest batch, or `nil` if it is unknown.
  public func synced(asOf time: Timestamp?) -> HealthObject {
    var writer = JSONWriter(capacity: 250)
    writer.object {
      $0.entry("source", "synced")
      $0.entry("as_of", time.map { RFC3339.format($0) })
      $0.entry(
        "note",
        "The phone was away, so these are the samples that it had synced by as_of. Newer ones, "
          + "those from before it began to sync, and kinds of data that it does not sync are "
          + "missing.")
    }
    // Both are objects with members, so they join at the braces.
    guard let end = bytes.lastIndex(of: UInt8(ascii: "}")) else { return self }
    return HealthObject(
      succeeded: succeeded,
      bytes: Array(bytes[..<end]) + [UInt8(ascii: ",")] + writer.bytes.dropFirst())
  }
}
