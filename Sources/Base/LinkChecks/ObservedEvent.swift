/// A planned event of a world, as an observer sees it.
public struct ObservedEvent: Sendable, Hashable {
  /// The name of the event kind in tables and files.
  public var name: String
  /// The text form, which plan files contain.
  public var text: String
  /// A human-readable description of the event.
  public var description: String
  /// The kind of host that the event affects.
  public var hostKind: HostKind
  /// The same kind, if it is not the default of the event kind.
  public var kind: HostKind?
  /// The index of the host among those of its kind; `nil` for all hosts of the kind.
  public var host: Int?
  /// Whether the event is the action of a person rather than a fault.
  public var isOfPeople: Bool
  /// Whether the event is in progress for some time.
  public var lasts: Bool
  /// The span in the event's text; zero if the text has none.
  public var length: Duration
  /// The amount by which the event sets the wall clocks of servers; `nil` if it does not.
  public var serverJump: Duration?

  package init(
    name: String, text: String, description: String, hostKind: HostKind, kind: HostKind?,
    host: Int?, isOfPeople: Bool, lasts: Bool, length: Duration, serverJump: Duration?
  ) {
    (self.name, self.text, self.description) = (name, text, description)
    (self.hostKind, self.kind, self.host) = (hostKind, kind, host)
    (self.isOfPeople, self.lasts) = (isOfPeople, lasts)
    (self.length, self.serverJump) = (length, serverJump)
  }

  /// Returns whether the event affects a phone, or the world around all phones.
  public func concerns(phone index: Int) -> Bool {
    let isOfPhones = hostKind == .phone || hostKind == .system
    return !isOfPhones || host == nil || host == index
  }
}
