/// A family of decoders whose promises hold for any input.
///
/// `make fuzz` searches for inputs that break a promise. `CorpusTests` checks that earlier findings
/// stay fixed.
enum FuzzTarget: String, CaseIterable, Sendable {
  case websocket, exchange, inflate
  case requests, handshake, fields
  case stream, pages, json, texts, token
  case journal, policy, removals, toml
  case rows, store, netlink
  case relay, assistants, lines, oauth
  case identity
  case export
  case held
  case session
  case sync
  case uploads
  case images
  case bottle
  case hooks
  case admin
  case backups
  case operators

  func check(_ bytes: [UInt8]) throws(Broken) {
    switch self {
    case .websocket: try WebSocketProperty.check(bytes)
    case .exchange: try ExchangeProperty.check(bytes)
    case .inflate: try InflateProperty.check(bytes)
    case .requests: try RequestProperty.check(bytes)
    case .handshake: try HandshakeProperty.check(bytes)
    case .fields: try FieldProperty.check(bytes)
    case .stream: try StreamProperty.check(bytes)
    case .pages: try PageProperty.check(bytes)
    case .json: try JSONProperty.check(bytes)
    case .texts: try TextProperty.check(bytes)
    case .token: try TokenProperty.check(bytes)
    case .journal: try JournalProperty.check(bytes)
    case .policy: try PolicyProperty.check(bytes)
    case .removals: try RemovalsProperty.check(bytes)
    case .toml: try TOMLProperty.check(bytes)
    case .rows: try RowProperty.check(bytes)
    case .store: try StoreProperty.check(bytes)
    case .netlink: try NetlinkProperty.check(bytes)
    case .relay: try RelayProperty.check(bytes)
    case .assistants: try MCPProperty.check(bytes)
    case .lines: try MCPLineProperty.check(bytes)
    case .oauth: try OAuthProperty.check(bytes)
    case .identity: try IdentityProperty.check(bytes)
    case .export: try ExportProperty.check(bytes)
    case .held: try HeldSocketProperty.check(bytes)
    case .session: try SessionProperty.check(bytes)
    case .sync: try SyncProperty.check(bytes)
    case .uploads: try UploadProperty.check(bytes)
    case .images: try ImageProperty.check(bytes)
    case .bottle: try BottleProperty.check(bytes)
    case .hooks: try HookProperty.check(bytes)
    case .admin: try AdminProperty.check(bytes)
    case .backups: try BackupProperty.check(bytes)
    case .operators: try OperatorProperty.check(bytes)
    }
  }
}
