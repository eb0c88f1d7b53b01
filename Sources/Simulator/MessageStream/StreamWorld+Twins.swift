// What of the stream is told a second time: see `Twin`.
extension StreamWorld {
  static var walks: [Walk] {
    [
      { chance in
        var walk = StreamWireWalk(chance)
        return walk.walk(1)
      },
      { chance in
        var walk = TokenWalk(chance)
        return walk.walk(2)
      },
      { chance in
        var walk = StreamKeptWalk(chance)
        return walk.walk(60)
      },
      { chance in
        var walk = StreamPhoneWalk(chance)
        return walk?.walk(260)
      },
    ]
  }
}
