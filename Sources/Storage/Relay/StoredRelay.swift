public import LinkCore
public import LinkHealth
public import LinkWire

// What the relay keeps of phones, assistants and waiting questions. The rules decide it, a store
// writes it down: both speak these words. No answer, and no secret but as a hash, is among them.

/// Names one pairing's phone; drawn at random, so that a stranger cannot guess one.
public struct PhoneID: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  /// The name itself.
  public var uuid: UUID128

  /// The phone of this name.
  public init(_ uuid: UUID128) {
    self.uuid = uuid
  }

  /// By the digits, first to last.
  public static func < (left: PhoneID, right: PhoneID) -> Bool { left.uuid < right.uuid }

  /// The 36-character lower-case form.
  public var description: String { uuid.description }
}

/// The SHA-256 of a token (FIPS 180-4): what is kept in its place.
public struct TokenHash: Sendable, Hashable, Comparable, Codable {
  /// 32 bytes.
  public let bytes: [UInt8]

  /// A hash; `nil` unless it has 32 bytes.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    self.bytes = bytes
  }

  /// By the bytes, first to last.
  public static func < (left: TokenHash, right: TokenHash) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}

/// A phone that can come back: its resume token, and where a push reaches it.
public struct StoredPhone: Sendable, Hashable, Codable {
  /// Which phone.
  public var id: PhoneID
  /// As the phone names itself.
  public var device: UUID128
  /// The hash of the token that resumes it.
  public var resume: TokenHash
  /// Where it is woken; a secret.
  public var push: PushAddress?
  /// When it was last seen; `nil` while it is connected.
  public var leftAt: Timestamp?

  /// A phone from its parts.
  public init(
    id: PhoneID, device: UUID128, resume: TokenHash, push: PushAddress? = nil,
    leftAt: Timestamp? = nil
  ) {
    self.id = id
    self.device = device
    self.resume = resume
    self.push = push
    self.leftAt = leftAt
  }
}

/// An assistant's access to one phone.
public struct StoredAccess: Sendable, Hashable, Codable {
  /// The hash of its bearer token.
  public var token: TokenHash
  /// The phone that it may ask.
  public var phone: PhoneID
  /// From then on the token is worth nothing.
  public var expiresAt: Timestamp
  /// What the assistant calls itself; `nil` if it did not say.
  public var assistant: AssistantName?
  /// When it was paired; `nil` if that is not known.
  public var since: Timestamp?
  /// When it asked last, to a minute; `nil` if it has not.
  public var lastAsked: Timestamp?

  /// An access from its parts.
  public init(
    token: TokenHash, phone: PhoneID, expiresAt: Timestamp, assistant: AssistantName? = nil,
    since: Timestamp? = nil, lastAsked: Timestamp? = nil
  ) {
    self.token = token
    self.phone = phone
    self.expiresAt = expiresAt
    self.assistant = assistant
    self.since = since
    self.lastAsked = lastAsked
  }
}

extension TokenHash {
  /// Names an access to its phone: the first 48 bits in hexadecimal. Tells nothing of the token.
  public var shortName: String {
    bytes.prefix(6).map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined()
  }
}

/// A question that waits for its phone.
public struct StoredQuestion: Sendable, Hashable, Codable {
  /// As the phone is told it, also after a restart of the backend.
  public var id: RelayRequestID
  /// The phone that is asked.
  public var phone: PhoneID
  /// The hash of the bearer token of the assistant that asks.
  public var asker: TokenHash
  /// What is asked.
  public var question: HealthQuestion
  /// The time after which no assistant waits for the answer.
  public var deadline: Timestamp

  /// A question from its parts.
  public init(
    id: RelayRequestID, phone: PhoneID, asker: TokenHash, question: HealthQuestion,
    deadline: Timestamp
  ) {
    self.id = id
    self.phone = phone
    self.asker = asker
    self.question = question
    self.deadline = deadline
  }
}

/// Everything that the relay keeps.
public struct StoredRelay: Sendable, Hashable, Codable {
  /// By id.
  public var phones: [StoredPhone]
  /// By token.
  public var accesses: [StoredAccess]
  /// In the order in which they were first kept.
  public var questions: [StoredQuestion]

  /// Nothing, by default.
  public init(
    phones: [StoredPhone] = [], accesses: [StoredAccess] = [], questions: [StoredQuestion] = []
  ) {
    self.phones = phones
    self.accesses = accesses
    self.questions = questions
  }
}

extension StoredRelay {
  /// Makes one change.
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
    }
  }
}

extension Array {
  /// Puts an element into a list that is ordered by `name`, in place of one of the same name.
  fileprivate mutating func put<Name: Comparable>(_ element: Element, by name: (Element) -> Name) {
    let place = end { name($0) < name(element) }
    if place < endIndex, name(self[place]) == name(element) {
      self[place] = element
    } else {
      insert(element, at: place)
    }
  }

  /// Removes the element of this name, if there is one, from a list that is ordered by `name`.
  fileprivate mutating func remove<Name: Comparable>(_ wanted: Name, by name: (Element) -> Name) {
    let place = end { name($0) < wanted }
    if place < endIndex, name(self[place]) == wanted { remove(at: place) }
  }
}

/// One change of what the relay keeps; what is not there is not an error to end.
public enum RelayChange: Sendable, Hashable, Codable {
  /// Keep a phone, in place of what was kept of it.
  case phone(StoredPhone)
  /// Forget a phone and the questions to it; accesses stay, so that askers can be told why.
  case endPhone(PhoneID)
  /// Keep an access, in place of one of the same token.
  case access(StoredAccess)
  /// Forget an access.
  case endAccess(TokenHash)
  /// Keep a question; one of the same id keeps its place.
  case question(StoredQuestion)
  /// Forget a question.
  case endQuestion(RelayRequestID)
}
