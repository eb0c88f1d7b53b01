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

extension HealthQuestion {
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
