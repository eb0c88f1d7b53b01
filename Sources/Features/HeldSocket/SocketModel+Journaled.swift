public import LinkCore

extension SocketModel: Journaled {
  public static var journalName: String { "held-socket" }
}
