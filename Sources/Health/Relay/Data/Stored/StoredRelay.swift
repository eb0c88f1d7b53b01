public import HoldfastCore
public import HoldfastHealth

// The data that the relay stores about phones, assistants and waiting questions. The rules decide
// which data to store, and a store writes it. Answers are not stored, and tokens are stored only as
// hashes.

/// The ID of a paired phone, chosen at random so that it cannot be guessed.
public struct PhoneID: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  /// The ID as a UUID.
  public var uuid: UUID128

  /// Creates an ID from a UUID.
  public init(_ uuid: UUID128) {
    self.uuid = uuid
  }

  /// Orders IDs by their digits, from first to last.
  public static func < (left: PhoneID, right: PhoneID) -> Bool { left.uuid < right.uuid }

  /// The 36-character lowercase form.
  public var description: String { uuid.description }
}

/// A phone that can resume its pairings, with the address for its wake pushes.
public struct StoredPhone: Sendable, Hashable, Codable {
  /// The ID of the phone.
  public var id: PhoneID
  /// The ID that the phone chose for itself.
  public var device: UUID128
  /// The hash of the phone's resume token.
  public var resume: TokenHash
  /// The address for wake pushes to the phone, which is a secret.
  public var push: PushAddress?
  /// The time at which the phone was last connected; `nil` while it is connected.
  public var leftAt: Timestamp?
  /// The user whose synced samples assistants read while the phone is away; `nil` for none.
  public var synced: SyncedUser?

  /// Creates a phone.
  public init(
    id: PhoneID, device: UUID128, resume: TokenHash, push: PushAddress? = nil,
    leftAt: Timestamp? = nil, synced: SyncedUser? = nil
  ) {
    self.id = id
    self.device = device
    self.resume = resume
    self.push = push
    self.leftAt = leftAt
    self.synced = synced
  }
}

/// A user of health sync, with the time zone in which answers cut days.
public struct SyncedUser: Sendable, Hashable, Codable {
  /// The name of the user.
  public var name: String
  /// The phone's time zone; `nil` for the zone of the user.
  public var zone: String?
  /// A keyed hash of the secret that the phone sent. The samples may be read while it is that of the
  /// user's secret.
  public var proof: TokenHash?

  /// Creates a user.
  public init(_ name: String, zone: String? = nil, proof: TokenHash? = nil) {
    self.name = name
    self.zone = zone
    self.proof = proof
  }
}

/// An assistant's access to one phone.
public struct StoredAccess: Sendable, Hashable, Codable {
  /// The hash of the assistant's bearer token.
  public var token: TokenHash
  /// The phone to which the assistant may send questions.
  public var phone: PhoneID
  /// The time at which the token expires.
  public var expiresAt: Timestamp
  /// The name that the assistant sent; `nil` if it sent none.
  public var assistant: AssistantName?
  /// The time of the pairing; `nil` if unknown.
  public var since: Timestamp?
  /// The time of the assistant's last question, rounded to the minute; `nil` before the first
  /// question.
  public var lastAsked: Timestamp?
  /// The number of renewals of a grant (OAuth), which is 0 until its code was redeemed; `nil` for
  /// the token of a login.
  public var generation: UInt64?
  /// Whether the assistant may read synced samples while the phone is away.
  public var readsSynced: Bool

  /// Creates an access.
  public init(
    token: TokenHash, phone: PhoneID, expiresAt: Timestamp, assistant: AssistantName? = nil,
    since: Timestamp? = nil, lastAsked: Timestamp? = nil, generation: UInt64? = nil,
    readsSynced: Bool = true
  ) {
    self.token = token
    self.phone = phone
    self.expiresAt = expiresAt
    self.assistant = assistant
    self.since = since
    self.lastAsked = lastAsked
    self.generation = generation
    self.readsSynced = readsSynced
  }
}

extension TokenHash {
  /// The name of an access among those of its phone: the first 48 bits of the hash, in hexadecimal.
  /// It does not reveal the token.
  public var shortName: String {
    bytes.prefix(6).map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined()
  }
}

/// A question that waits for its phone.
public struct StoredQuestion: Sendable, Hashable, Codable {
  /// The ID in the message to the phone, which stays the same after a restart of the backend.
  public var id: RelayRequestID
  /// The phone to which the question is addressed.
  public var phone: PhoneID
  /// The hash of the bearer token of the assistant that sent the question.
  public var caller: TokenHash
  /// The question.
  public var question: HealthQuestion
  /// The time at which the assistant stops waiting for the answer.
  public var deadline: Timestamp

  /// Creates a question.
  public init(
    id: RelayRequestID, phone: PhoneID, caller: TokenHash, question: HealthQuestion,
    deadline: Timestamp
  ) {
    self.id = id
    self.phone = phone
    self.caller = caller
    self.question = question
    self.deadline = deadline
  }
}

/// A session of MCP, or a conversation of the plain endpoints, whose assistant is signed in.
public struct StoredAssistantSession: Sendable, Hashable, Codable {
  /// The hash of the session's ID, which is a secret.
  public var id: TokenHash
  /// The negotiated version of MCP; `nil` for a conversation.
  public var version: String?
  /// The name under which the client introduced itself.
  public var client: AssistantName?
  /// The grant with which the session began, if its client signed in with OAuth.
  public var owner: TokenHash?
  /// The hash of the token from the session's login; `nil` if the client sends its own token.
  public var bearer: TokenHash?
  /// Whether the client can ask its user to open a page.
  public var elicitsURL: Bool
  /// Whether the client has sent a token, without which the session's ID then is worth nothing.
  public var showsTokens: Bool

  /// Creates a session.
  public init(
    id: TokenHash, version: String?, client: AssistantName? = nil, owner: TokenHash? = nil,
    bearer: TokenHash? = nil, elicitsURL: Bool = false, showsTokens: Bool = false
  ) {
    self.id = id
    self.version = version
    self.client = client
    self.owner = owner
    self.bearer = bearer
    self.elicitsURL = elicitsURL
    self.showsTokens = showsTokens
  }
}

/// All data that the relay stores.
public struct StoredRelay: Sendable, Hashable, Codable {
  /// The phones, ordered by ID.
  public var phones: [StoredPhone]
  /// The accesses, ordered by token.
  public var accesses: [StoredAccess]
  /// The questions in the order in which they were first stored.
  public var questions: [StoredQuestion]
  /// The sessions of assistants, ordered by ID.
  public var sessions: [StoredAssistantSession]

  /// Creates a value, which is empty by default.
  public init(
    phones: [StoredPhone] = [], accesses: [StoredAccess] = [], questions: [StoredQuestion] = [],
    sessions: [StoredAssistantSession] = []
  ) {
    self.phones = phones
    self.accesses = accesses
    self.questions = questions
    self.sessions = sessions
  }
}

extension StoredRelay {
  /// Applies a change.
  public mutating func apply(_ change: RelayChange) {
    switch change {
    case .phone(let phone): phones.put(phone, by: \.id)
    case .endPhone(let id):
      phones.remove(id, by: \.id)
      questions.removeAll { $0.phone == id }
    case .access(let access): accesses.put(access, by: \.token)
    case .endAccess(let token): accesses.remove(token, by: \.token)
    case .question(let question):
      if let known = questions.firstIndex(where: { $0.id == question.id }) {
        questions[known] = question
      } else {
        questions.append(question)
      }
    case .endQuestion(let id): questions.removeAll { $0.id == id }
    case .session(let session): sessions.put(session, by: \.id)
    case .endSession(let id): sessions.remove(id, by: \.id)
    }
  }
}

extension Array {
  /// Inserts an element into a list that is ordered by `name`, or replaces the element with the
  /// same name.
  fileprivate mutating func put<Name: Comparable>(_ element: Element, by name: (Element) -> Name) {
    let index = end { name($0) < name(element) }
    if index < endIndex, name(self[index]) == name(element) {
      self[index] = element
    } else {
      insert(element, at: index)
    }
  }

  /// Removes the element with this name, if any, from a list that is ordered by `name`.
  fileprivate mutating func remove<Name: Comparable>(_ wanted: Name, by name: (Element) -> Name) {
    let index = end { name($0) < wanted }
    if index < endIndex, name(self[index]) == wanted { remove(at: index) }
  }
}

/// A change of the relay's stored data. Removing an item that is not stored has no effect.
public enum RelayChange: Sendable, Hashable, Codable {
  /// Store a phone, or replace it.
  case phone(StoredPhone)
  /// Remove a phone and the questions for it. Accesses stay, so that assistants can receive a
  /// reason.
  case endPhone(PhoneID)
  /// Store an access, or replace the access with the same token.
  case access(StoredAccess)
  /// Remove an access.
  case endAccess(TokenHash)
  /// Store a question. If it replaces a question with the same ID, it keeps that question's
  /// position.
  case question(StoredQuestion)
  /// Remove a question.
  case endQuestion(RelayRequestID)
  /// Store a session of an assistant, or replace the session with the same ID.
  case session(StoredAssistantSession)
  /// Remove a session of an assistant.
  case endSession(TokenHash)
}
