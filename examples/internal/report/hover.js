(function () {
  var d = JSON.parse(document.getElementById("runs").textContent);
  var tip = document.getElementById("tip"), box = document.querySelector(".box"), svg = box.querySelector("svg");
  box.appendChild(tip);
  function show(e) {
    var r = svg.getBoundingClientRect();
    var x = (e.clientX - r.left) / r.width * d.W, y = (e.clientY - r.top) / r.height * d.H;
    var slack = d.W / r.width, found = -1;
    for (var i = 0; i < d.Rects.length; i += 5) {
      if (y >= d.Rects[i + 2] && y < d.Rects[i + 2] + d.Rects[i + 3] &&
          x >= d.Rects[i] - slack && x < d.Rects[i] + d.Rects[i + 1] + slack) {
        found = i;
        if (x >= d.Rects[i] && x < d.Rects[i] + d.Rects[i + 1]) break;
      }
    }
    if (found < 0) { tip.style.display = "none"; return; }
    tip.textContent = d.Text[d.Rects[found + 4]];
    tip.style.display = "block";
    var left = e.clientX - r.left + 14;
    if (left + tip.offsetWidth > r.width) left = Math.max(0, e.clientX - r.left - tip.offsetWidth - 10);
    tip.style.left = left + "px";
    tip.style.top = e.clientY - r.top + 14 + "px";
  }
  svg.addEventListener("pointermove", show);
  svg.addEventListener("pointerdown", show);
  svg.addEventListener("pointerleave", function () { tip.style.display = "none"; });
})();
