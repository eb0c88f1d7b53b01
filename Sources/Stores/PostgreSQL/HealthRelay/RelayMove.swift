import HoldfastServerData

extension MovedSQL {
  /// The tables of the relay. Questions keep the order of their arrival.
  static let relay = [
    MovedSQL(.phones, in: "relay_phones", by: "id"),
    MovedSQL(.accesses, in: "relay_accesses", by: "token"),
    MovedSQL(.questions, in: "relay_questions", by: "number"),
    MovedSQL(.assistantSessions, in: "assistant_sessions", by: "id"),
  ]
}
