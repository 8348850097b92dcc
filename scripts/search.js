// The search of the site: find(index, wanted) returns the sections for some words, the best first. A row of the index
// is the title of a page, a heading, an address, a text, and the weight of its group of pages.

const idle = new Set("a an and are as at be by can do does for from how i if in is it my of on or the to what when where which with".split(" "));

const tokens = text => text.toLowerCase().match(/[a-z0-9]+(?:[._-][a-z0-9]+)*/g) || [];

// fits reports whether a word of a text is a wanted one, in singular or plural, or starts with it.
function fits(token, word) {
  return token === word || token === word + "s" || token + "s" === word || word.length > 3 && token.startsWith(word);
}

// prepared is a row with its tokens. The parts of tokens such as series.csv count too.
function prepared(row) {
  const all = text => tokens(text).flatMap(t => t.match(/[._-]/) ? [t, ...t.split(/[._-]/)] : [t]);
  return {row, title: all(row[0]), heading: all(row[1]), text: all(row[3])};
}

let known, rows;

function find(index, wanted) {
  if (known !== index) [known, rows] = [index, index.map(prepared)];
  let words = [...new Set(tokens(wanted))];
  words = words.filter(w => !idle.has(w)).length ? words.filter(w => !idle.has(w)) : words;
  const phrase = words.join(" ");
  if (!words.length) return [];
  // A word that is in few sections says more.
  const rare = words.map(w => Math.log(1 + rows.length / (1 + rows.filter(r => [r.title, r.heading, r.text].some(t => t.some(x => fits(x, w)))).length)));
  const found = [];
  for (const r of rows) {
    let sum = 0, met = 0;
    words.forEach((w, i) => {
      const head = r.heading.some(t => fits(t, w)), title = r.title.some(t => fits(t, w));
      const times = r.text.reduce((n, t) => n + fits(t, w), 0);
      if (head || title || times) met++;
      sum += rare[i] * ((head ? 6 : 0) + (title ? (r.heading.length ? 3 : 9) : 0) + 2 * Math.log2(1 + times) / (1 + r.text.length / 800));
    });
    if (!met) continue;
    if (words.length > 1 && (r.title.join(" ") + " " + r.heading.join(" ") + " " + r.text.join(" ")).includes(phrase)) sum *= 1.2;
    found.push([sum * r.row[4] * (met / words.length) ** 2, r.row]);
  }
  return found.sort((a, b) => b[0] - a[0]).map(([, row]) => row);
}
