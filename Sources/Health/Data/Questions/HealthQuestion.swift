package import HoldfastJSON

/// A question that an assistant sends to a phone.
public enum HealthQuestion: Sendable, Hashable, Codable {
  case healthData(HealthDataQuery)
  case summary(SummaryQuery)
  /// The types that are stored, with their words.
  case types

  /// The kind of a question. It is part of the type of a message.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    case healthData, summary, types
  }

  /// The kind of this question.
  public var kind: Kind {
    switch self {
    case .healthData: .healthData
    case .summary: .summary
    case .types: .types
    }
  }
}

extension HealthQuestion.Kind {
  /// The words of a kind on the wire.
  package struct Words: Sendable {
    /// The type of the message that contains the question.
    package let request: String
    /// The type of the message that contains the answer.
    package let reply: String
    /// The member of that message with the answer, which names the kind of a part, too.
    package let object: String
    /// The member of the answer with the requested data.
    package let data: String
  }

  /// The words of this kind.
  package var words: Words {
    switch self {
    case .healthData:
      Words(
        request: "health_data_request", reply: "health_data_response", object: "health_data",
        data: "health_data")
    case .summary:
      Words(
        request: "summary_request", reply: "summary_response", object: "summary_data",
        data: "results")
    case .types:
      Words(
        request: "health_types_request", reply: "health_types_response", object: "health_types",
        data: "types")
    }
  }

  /// Creates the kind that has a word. Returns `nil` if none has it.
  package init?(_ word: KeyPath<Words, String>, _ text: String) {
    guard let kind = Self.allCases.first(where: { $0.words[keyPath: word] == text }) else {
      return nil
    }
    self = kind
  }
}

extension HealthQuestion {
  /// The requested types; empty for a summary whose types the phone chooses, and for the list of
  /// types.
  package var types: [String] {
    switch self {
    case .healthData(let query): [query.valueType.rawValue]
    case .summary(let query): query.metrics.map(\.valueType.rawValue)
    case .types: []
    }
  }

  /// The time range, and the maximum size of the answer in bytes, each `nil` if the question has none.
  package var bounds: (start: HealthTime?, end: HealthTime?, maxBytes: Int?) {
    switch self {
    case .healthData(let query): (query.start, query.end, query.maxBytes)
    case .summary(let query): (query.start, query.end, query.maxBytes)
    case .types: (nil, nil, nil)
    }
  }

  /// Reads the payload of a question of the given kind.
  package static func read(
    _ kind: Kind, payload: [UInt8]
  ) throws(FieldFault) -> HealthQuestion {
    switch kind {
    case .healthData: .healthData(try HealthDataQuery.read(payload))
    case .summary: .summary(try SummaryQuery.read(payload))
    // The question has no members. Later versions may add some.
    case .types: .types
    }
  }

  /// The payload of a message that contains the question.
  public var payload: [UInt8] {
    switch self {
    case .healthData(let query): query.payload
    case .summary(let query): query.payload
    case .types: Array("{}".utf8)
    }
  }
}
