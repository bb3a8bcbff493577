"""Makes texts of the shell's language: from a grammar of its constructs, along a path that the seed decides.

Every program in them is a canary, `c0` to `c29`: a text says nothing about what is right, only which programs a shell might start. Texts
that no shell takes are made as well, by leaving out, doubling and moving characters.
"""
import random

DELIMITERS = ["E", "EOF", "'E'", '"E"', "\\E", "E-1", "E.x", "'E F'", "E'F'", '""', "$E", "c1"]
PATTERNS = ["*", "?", "[a-c]*", "f*", "{a,b}", "{a,b}{c,d}", "{1..3}", "a{,b}", "{a", "a}", "~", "~/x", "!(a)", "*.{a,b}", "[!a]", "{a,'b c'}",
            "{c1,c2}", "{a,$x}", "a{b,{c,d}}e", "=c1", "^a"]
PLAIN = ["a", "b", "f", "x y", "-n", "--", "1", "in", "do", "done", "if", "fi", "esac", "then", "{", "}", "!", "time", "case", "#a", "a#b", "a=b", "c3", ""]
QUOTES = ["'%s'", '"%s"', "$'%s'", '$"%s"', "\\%s", "%s", "''%s", '%s""']
EXPANSIONS = ["$x", "${x}", "${x:-a}", "${x:=a}", "${x#a}", "${x%%b*}", "${x/a/b}", "${x//a/b}", "${#x}", "$#", "$@", "\"$@\"", "$?", "$$", "$1", "${x:1:2}", "${x^}",
              "${x@Q}", "${!x}", "$((1+2))", "$((x))", "$[1+1]", "${x:-$(c4)}", "${x:-`c5`}", "\"${x:-'a b'}\"", "${x+\"a}\"}", "${x:-'}'}"]
REDIRECTIONS = ["> f", ">> f", ">| f", "< f", "2> f", "2>&1", ">&2", "&> f", "&>> f", ">& f", "<> f", "<&-", "1>&-", "> $x", "< '*'", "&>f", ">f", "3>f",
                "<<< a", "<<<a", "<<< \"$(%s)\"", "<<< '$(%s)'", "<<<$x", ">! f", ">&! f", "<&-%s", ">&-%s", "2>&1%s", ">&2-%s", "2>&1>f", "{fd}>f", "&>>f"]
SEPARATORS = ["; ", "\n", " && ", " || ", " | ", " |& ", " & ", ";", "\n\n", " |\n", " &&\n", "&", "|", " ;\n", "\n# %s\n", " # %s\n", "; # '\n", " \\\n; ", ";\\\n"]
CLOSINGS = [";;", ";&", ";;&", ";|"]


class Texts:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.pending = []
        self.left = 0

    def some(self, things):
        return self.random.choice(things)

    def chance(self, of):
        return self.random.random() < of

    def canary(self):
        name = f"c{self.random.randrange(30)}"
        if self.chance(0.08):
            at = self.random.randrange(1, len(name))
            return self.some([f"'{name}'", f'"{name}"', f"\\{name}", f"{name[:at]}''{name[at:]}", f"{name[:at]}\\\n{name[at:]}", f"$'{name}'",
                              f"{name[:at]}\\{name[at:]}", f"{{{name},a}}", f"$'\\x63'{name[1:]}", f"{name}{{,}}", f"$x{name}", f"={name}"])
        return name

    def inside(self, depth):
        """A list of commands in a substitution, with its here documents inside or left to the outer line."""
        if self.chance(0.8):
            outer, self.pending = self.pending, []
            text = self.lines(depth + 1)
            self.pending = outer
            return text
        return self.list(depth + 1)

    def word(self, depth):
        kind = self.random.random()
        if kind < 0.35 or depth > 3 or self.left <= 0:
            return self.some(PLAIN) or "''"
        if kind < 0.5:
            return self.some(EXPANSIONS)
        if kind < 0.58:
            return self.some(PATTERNS)
        if kind < 0.7:
            return self.some(QUOTES) % self.some(["a", "a b", "$(%s)" % self.canary(), "`%s`" % self.canary(), "a'b", 'a"b', "; %s" % self.canary(), "#", "\\", "(", ")", "\\\n"])
        if kind < 0.82:
            inner = self.inside(depth)
            return self.some(["$(%s)", '"$(%s)"', "`%s`", '"`%s`"', "$( %s )", "$(%s\n)", "a$(%s)b", "$(: $(%s))", "${x:-$(%s)}", "\"${x:-$(%s)}\"", "${ %s; }", "$(# )\n%s)"]) % inner
        if kind < 0.88:
            return self.some(["<(%s)", ">(%s)", "<(%s\n)"]) % self.inside(depth)
        if kind < 0.93:
            return self.some(["$((%s))", "$(( 1 + %s ))", "$((x[%s]))", "$(((%s)))", "$[%s]"]) % self.some(["1", "x", "$x", "2#1", "1<<2", "(1)", "$(%s)" % self.canary(), "x=1", "1?2:3", "'1'"])
        return self.word(depth + 1) + self.word(depth + 1)

    def redirection(self):
        if self.chance(0.3):
            delimiter = self.some(DELIMITERS)
            dash = self.chance(0.3)
            self.pending.append((delimiter, dash))
            return f"<<{'-' if dash else ''}{' ' if self.chance(0.2) else ''}{delimiter}"
        text = self.some(REDIRECTIONS)
        return text % self.canary() if "%s" in text else text

    def documents(self):
        """The bodies of the here documents whose heads stand in the line that ends here."""
        out = ""
        for delimiter, dash in self.pending:
            end = delimiter.replace("'", "").replace('"', "").replace("\\", "")
            lines = []
            for _ in range(self.random.randrange(4)):
                lines.append(self.some(["text", "$(%s)" % self.canary(), "`%s`" % self.canary(), self.canary(), end + ")", end + " ", " " + end, "\t" + end, end + ";", end + "\\",
                                        "\\", "'", '"', "${x:-$(%s)}" % self.canary(), end + ") ; %s" % self.canary(), "$((1))", ")", "}", "\\$(%s)" % self.canary(), "# '", "$(cat <<E\n%s\nE\n)" % self.canary()]))
            if dash and self.chance(0.5):
                lines = ["\t" + line for line in lines]
                end = "\t" + end
            last = end if self.chance(0.93) else self.some([end + " ", "", end + "x"])
            out += "".join(line + "\n" for line in lines) + last + "\n"
        self.pending = []
        return out

    def simple(self, depth):
        parts = []
        if self.chance(0.12):
            parts.append(self.some(["x=1", "x='a b'", "x=$(%s)" % self.canary(), "x=(a b)", "x+=a", "x=c7", "x[1]=a", "x=~", "a=b c=d", "x=`%s`" % self.canary(), "x= "]))
        if self.chance(0.06):
            parts.append(self.redirection())
        start = self.random.random()
        if start < 0.68:
            parts.append(self.canary())
        elif start < 0.76:
            parts.append(self.some(["command", "builtin", "exec", "eval", "time", "! ", "noglob", "nocorrect", "-", "command --", "exec -a a", "time -p", "eval --", "! time", "time !", "coproc"]) + " " + self.canary())
        elif start < 0.8:
            return self.some(["eval '%s'", 'eval "%s"', "eval %s \\; c9"]) % self.canary()
        elif start < 0.86:
            parts.append(self.some([":", "echo", "printf %s", "test", "[ a ]", "[[ a == b ]]", "[[ -n $(c8) ]]", "[[ a =~ (b|c) ]]", "[ $(c8) ]", "true", "(( 1 ))", "(( x = 1 ))", "let x=1",
                                    "unset x", "set -- a b", "export x=1", "local x", "read x", "shift", "[[ a < b ]]", "[[ (a) && ! b ]]"]))
        elif start < 0.9:
            parts.append(self.some(["x=1", "x=$(%s)", "x=`%s`", "x='%s'"]) .replace("%s", self.canary()))
        else:
            parts.append(self.word(depth))
        for _ in range(self.random.choice([0, 0, 0, 1, 1, 2, 3])):
            parts.append(self.redirection() if self.chance(0.25) else self.word(depth))
        return self.some([" ", " ", " ", " ", " ", "  ", "\t", " \\\n"]).join(parts)

    def compound(self, depth):
        a, b = self.list(depth + 1), self.list(depth + 1)
        kind = self.random.randrange(17)
        gap = self.some(["; ", "\n", "\n", ";\n"])
        word = self.word(depth)
        if kind == 0:
            return f"( {a} )"
        if kind == 1:
            return f"{{ {a}{gap}}}"
        if kind == 2:
            return f"if {a}{gap}then {b}{gap}fi"
        if kind == 3:
            return f"if {a}{gap}then {b}{gap}else {self.canary()}{gap}fi"
        if kind == 4:
            return f"for x in {word} {self.some(['a', 'c1', '$@'])}{gap}do {a}{gap}done"
        if kind == 5:
            return f"for x in a b{gap}do $x{gap}{a}{gap}done"
        if kind == 6:
            return f"while ! {self.canary()}{gap}do {a}{gap}done"
        if kind == 7:
            return f"until {self.canary()}{gap}do {a}{gap}done"
        if kind in (8, 9):
            arms = "".join(f"{self.some(['', '('])}{self.some(['a', '*', 'a|b', '[a-c]', '(a', chr(39) + 'x y' + chr(39), '$x', '$(c6)', 'esac', '?', 'a#', '#'])}) {self.list(depth + 1)}"
                           f"{gap if self.chance(0.3) else ' '}{self.some(CLOSINGS)}{self.some([' ', chr(10)])}" for _ in range(self.random.randrange(1, 3)))
            return f"case {word} in {arms}{self.some(['', '*) %s' % self.canary() + gap])}esac"
        if kind == 10:
            return f"f() {{ {a}{gap}}}{gap}{self.some(['f', 'f a', 'f $(%s)' % self.canary()])}"
        if kind == 11:
            return self.some(["function f { %s\n}\nf", "f() ( %s )\nf", "function f() { %s\n}; f", "f ()\n{ %s\n}\nf", "f() %s", "c2() { :; }\nc2; %s", "f() for x in a; do %s; done; f"]) % a
        if kind == 12:
            return self.some(["for ((i=0; i<2; i++)); do %s\ndone", "for x in a; { %s\n}", "for x; do %s\ndone", "for x in a b; %s", "for x (a b) { %s\n}", "foreach x (a b)\n%s\nend", "repeat 1 %s",
                              "for x\nin a\ndo %s\ndone", "while false; do :; done; %s", "if [[ a ]] { %s\n}", "{ :; } always { %s\n}", "() { %s\n}"]) % a
        if kind == 13:
            return f"select x in a; do {a}; break; done"
        if kind == 14:
            return f"( {a}; {b}\n)"
        if kind == 15:
            return f"((1)) && {{ {a}{gap}}}"
        return self.some(["{%s;}", "{ %s}", "(%s)", "((%s))", "( (%s) )", "{ (%s); }", "! { %s; }", "time ( %s )", "((%s) )", "{ %s; } > f", "( %s ) 2>&1", "{ %s; } <<< a", "coproc { %s; }", "[[ a ]] && %s"]) % a

    def item(self, depth):
        self.left -= 1
        if depth < 4 and self.left > 0 and self.chance(0.28):
            text = self.compound(depth)
            return text + (" " + self.redirection() if self.chance(0.1) else "")
        return self.simple(depth)

    def list(self, depth):
        text = self.item(depth)
        while self.left > 0 and self.chance(0.3):
            separator = self.some(SEPARATORS)
            if "%s" in separator:
                separator = separator % self.some(["a", "'", '"', "(x)", "$(%s)" % self.canary(), "`", "\\", "<<E", "it's"])
            if "\n" in separator and self.pending and self.chance(0.9):
                separator = separator + self.documents()
            text += separator + self.item(depth)
        return text

    def lines(self, depth):
        text = self.list(depth)
        for _ in range(self.random.choice([0, 0, 1])):
            text += "\n" + self.documents() + self.list(depth)
        if self.pending:
            text += "\n" + self.documents()
        return text

    def text(self):
        self.pending = []
        self.left = self.random.choice([2, 3, 4, 6, 8, 12])
        text = self.lines(0)
        if self.chance(0.25) and text:
            text = self.harmed(text)
        return text

    def harmed(self, text):
        """The text with a character or a piece left out, doubled, moved or added."""
        for _ in range(self.random.choice([1, 1, 2])):
            at, to = sorted(self.random.randrange(len(text) + 1) for _ in range(2))
            to = min(to, at + 12)
            kind = self.random.randrange(5)
            if kind == 0:
                text = text[:at] + text[at + 1:]
            elif kind == 1:
                text = text[:at] + text[at:to] + text[at:]
            elif kind == 2:
                text = text[:at] + self.some(["'", '"', "`", "\\", "(", ")", "{", "}", "\n", ";", "&", "|", "<", ">", "#", "$", " ", "\\\n", "!", "=", "~", "*", "<<E", ";;", "\t"]) + text[at:]
            elif kind == 3:
                text = text[:at] + text[to:] + text[at:to]
            else:
                text = text[:at] + text[to:]
        return text
