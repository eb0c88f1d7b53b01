package import LinkJSON

/// A question of an assistant to a phone.
public enum HealthQuestion: Sendable, Hashable, Codable {
  case healthData(HealthDataQuery)
  case summary(SummaryQuery)

  /// The kind of a question; messages name it in their types.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    case healthData, summary
  }

  /// The kind of this question.
  public var kind: Kind {
    switch self {
    case .healthData: .healthData
    case .summary: .summary
    }
  }
}

extension HealthQuestion {
  /// Reads the payload of a question of this kind.
  package static func read(
    _ kind: Kind, payload: [UInt8]
  ) throws(FieldFault) -> HealthQuestion {
    switch kind {
    case .healthData: .healthData(try HealthDataQuery.read(payload))
    case .summary: .summary(try SummaryQuery.read(payload))
    }
  }

  /// The question as the payload of a message.
  public var payload: [UInt8] {
    switch self {
    case .healthData(let query): query.payload
    case .summary(let query): query.payload
    }
  }
}
