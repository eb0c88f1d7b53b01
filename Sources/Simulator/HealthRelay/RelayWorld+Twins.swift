// What of the relay is told a second time: see `Twin`.
extension RelayWorld {
  static var walks: [Walk] {
    [
      { chance in
        var wire = RelayWireWalk(chance)
        if let stray = wire.walk(2) { return stray }
        var kept = RelayKeptWalk(wire.chance)
        if let stray = kept.walk(2) { return stray }
        var calls = MCPWireWalk(kept.chance)
        return calls.walk(2),
        var walk = MCPServerWalk(chance)
        return walk.walk(48),
        var walk = RelayPhoneWalk(chance)
        return walk.walk(300),
        var (server, shapes) = (RelayServerWalk(chance), RelayShapeWalk(chance))
        return server.walk(90) ?? shapes.walk(8)
      }
    ]
  }
}
