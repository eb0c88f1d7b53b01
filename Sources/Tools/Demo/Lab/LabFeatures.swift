/// The features of the lab.
extension Lab {
  /// A function that creates a feature.
  typealias Maker = @Sendable (LabParts) -> any LabFeature

  /// The names of the features, in the order of their links.
  public static var names: [String] { features.map(\.name) }

  static let features: [(name: String, make: Maker)] = [
    ("stream", { MessagesLab($0) }), ("socket", { FeedLab($0) }), ("session", { PromptsLab($0) }),
    ("relay", { AssistantLab($0) }), ("sync", { SamplesLab($0) }), ("bottle", { BottleLab($0) }),
  ]
}

/// The settings that features of the lab share.
enum LabFeatures {
  /// The arguments that make a link notice silence after some seconds, so that it can be watched.
  static let watchable = [
    "liveness.ping=5s", "liveness.pongTimeout=3s", "liveness.pongTries=1",
  ].flatMap { ["--set", $0] }
}
