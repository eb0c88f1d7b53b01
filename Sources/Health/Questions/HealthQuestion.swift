package import LinkJSON

/// What an assistant wants to know of a phone.
public enum HealthQuestion: Sendable, Hashable, Codable {
  case healthData(HealthDataQuery)
  case summary(SummaryQuery)

  /// The two kinds, which differ in the words around them.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    case healthData, summary
  }

  /// Which kind it is.
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

  /// The member `payload` of the message that asks this.
  public var payload: [UInt8] {
    switch self {
    case .healthData(let query): query.payload
    case .summary(let query): query.payload
    }
  }
}
