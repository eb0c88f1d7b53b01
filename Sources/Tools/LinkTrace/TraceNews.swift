public import HoldfastCore
public import HoldfastLinkChecks

/// A feature whose runs become traces.
///
/// The events that every link has are derived from the roles of inputs and effects. A feature adds
/// the events of its data.
public protocol TracedFeature: ObservedFeature {
  /// Returns the events of data that an input reports.
  static func news(of input: Input) -> [TraceNews]
  /// Returns the events of data that an effect causes.
  static func news(of effect: Effect) -> [TraceNews]
  /// Returns the events of data that a fact about the world contains.
  static func news(of fact: Fact) -> [TraceNews]
  /// Returns the sentence of an input; `nil` if the description in a simulator's trace is used.
  static func sentence(of input: Input) -> String?
  /// Returns the sentence of an effect; `nil` if the description in a simulator's trace is used.
  static func sentence(of effect: Effect) -> String?
  /// Returns the name of the link that a model contains; `nil` if it contains none.
  static func linkName(of model: Model) -> String?
  /// Returns the index of the phone that a fact about the world concerns; `nil` if it concerns all.
  static func phone(of fact: Fact) -> Int?
  /// Returns the number of the user's entries that wait to be sent; `nil` if the events of data say
  /// when each entry is sent.
  static func waiting(_ state: State) -> Int?
  /// Returns the words for a failure of a connection; `nil` if those of every link are used.
  static func words(for failure: LinkFailure) -> (why: TraceReason, say: String)?
  /// The name of the server in sentences.
  static var serverName: String { get }
  /// The names of planned events that are neither faults nor acts of the phone's user.
  static var ordinaryEvents: Set<String> { get }
}

extension TracedFeature {
  public static func news(of fact: Fact) -> [TraceNews] { [] }
  public static func sentence(of input: Input) -> String? { nil }
  public static func sentence(of effect: Effect) -> String? { nil }
  public static func linkName(of model: Model) -> String? { nil }
  public static func phone(of fact: Fact) -> Int? { nil }
  public static func waiting(_ state: State) -> Int? { nil }
  public static func words(for failure: LinkFailure) -> (why: TraceReason, say: String)? { nil }
  public static var serverName: String { "server" }
  public static var ordinaryEvents: Set<String> { [] }
}

extension TracedFeature {
  /// Returns one complete English sentence about an input.
  public static func say(_ input: Input) -> String {
    sentence(of: input) ?? Sentence.of(describe(input))
  }

  /// Returns one complete English sentence about an effect.
  public static func say(_ effect: Effect) -> String {
    if let sentence = sentence(of: effect) { return sentence }
    if let status = statusLabel(effect) { return "The app shows the state: \(status)." }
    return describe(effect, isVerbose: true).map(Sentence.of) ?? ""
  }

  /// Returns whether a planned event is an act of the phone's user, and not one of other people.
  static func isOfUser(_ event: ObservedEvent) -> Bool {
    event.isOfPeople && event.hostKind == .phone && !ordinaryEvents.contains(event.name)
  }
}

/// An event of a feature's data.
///
/// A text identifies work from its beginning to its end.
public enum TraceNews: Sendable, Hashable {
  /// An attempt begins, in a feature whose effects do not have that role.
  case attempts(AttemptID)
  /// A request for data begins.
  case asks(String)
  /// A request for data ended. The count is that of the received entries.
  case answered(String, isDone: Bool, count: Int)
  /// A request that sends data begins.
  case posts(String)
  case posted(String, isDone: Bool)
  /// A write to the store begins.
  case stores(String)
  case stored(String, isDone: Bool)
  /// An entry of the user waits to be sent.
  case waits(String)
  /// An entry no longer waits.
  case settled(String, isSent: Bool)
  /// The oldest entries no longer wait, and whether they arrived is not known.
  case unproven(count: Int)
  /// All entries with a number up to this one no longer wait.
  case settledThrough(UInt64)
  /// The app shows an entry. The identity, if there is one, is that with which a server accepted it.
  case shown(text: String, made: Timestamp?, via: String, position: UInt64?, id: String? = nil)
  /// The server's newest position.
  case head(UInt64)
  case gap
  case gapClosed
  /// The user wrote something.
  case wrote
  /// A message was passed to the connection.
  case sends(bytes: Int?)
  /// A message of this size arrived.
  case receives(bytes: Int)
  /// The server accepted an entry, which the app will show.
  case accepted(String? = nil)
  /// An entry of the user reached the server.
  case reached
  /// The server announced that it will close its connections.
  case draining
}
