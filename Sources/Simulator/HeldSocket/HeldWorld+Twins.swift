// What of a link is told a second time: see `Twin`.
extension HeldWorld {
  static var walks: [Walk] {
    [
      { chance in
        var parts = LinkPartsWalk(chance)
        var walk = LinkWalk(chance)
        return parts.walk(2) ?? walk.walk(2, 90),
        var walk = SocketWalk(chance)
        return walk.walk(300)
      }
    ]
  }
}
