public import HoldfastCore
public import HoldfastLinkChecks

/// A plan that once failed or that demonstrates a defect, and its expected result.
public struct CorpusCase<Feature: SimulatedFeature>: Sendable, Hashable, Codable {
  /// A short description.
  public var name: String
  /// The plan.
  public var plan: WorldPlan<Feature>
  /// The policy with which the failure was found; `nil` for the feature's default policy.
  public var policy: LinkPolicy?
  /// The active defect, if any.
  public var defect: Feature.Defect?
  /// The kinds of findings that must occur, each listed once; empty if the run must have no
  /// findings.
  public var expected: [Finding.Kind]
  /// Human-readable findings from the time when the case was created.
  public var found: [String]

  public init(
    name: String, plan: WorldPlan<Feature>, policy: LinkPolicy? = nil,
    defect: Feature.Defect? = nil, expected: [Finding.Kind] = [], found: [String] = []
  ) {
    self.name = name
    self.plan = plan
    self.policy = policy
    self.defect = defect
    self.expected = expected
    self.found = found
  }

  private enum CodingKeys: String, CodingKey, CaseIterable {
    case name, plan, policy, defect, expected, found
  }

  /// Decodes a case. A handwritten case may omit all members but its name and its plan.
  public init(from decoder: any Decoder) throws {
    try decoder.container(keyedBy: FieldKey.self).expect(only: CodingKeys.allCases.map(\.rawValue))
    let container = try decoder.container(keyedBy: CodingKeys.self)
    name = try container.decode(String.self, forKey: .name)
    plan = try container.decode(WorldPlan<Feature>.self, forKey: .plan)
    policy = try container.decodeIfPresent(LinkPolicy.self, forKey: .policy)
    defect = container.contains(.defect) ? try container.choice(.defect) : nil
    expected = try container.decodeIfPresent([Finding.Kind].self, forKey: .expected) ?? []
    if let index = expected.firstIndex(where: { !Feature.kinds.contains($0) }) {
      let kinds = Feature.kinds.map(\.rawValue).joined(separator: ", ")
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: container.codingPath + [CodingKeys.expected, FieldKey(intValue: index)],
          debugDescription: "\(expected[index].rawValue) is not one of \(kinds)"))
    }
    found = try container.decodeIfPresent([String].self, forKey: .found) ?? []
  }

  /// The setup of the case's run.
  public var setup: RunSetup<Feature> {
    RunSetup(policy: policy ?? Feature.policy, defect: defect)
  }
}
